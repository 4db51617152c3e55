import type { LearnerContext, LearnerPlugin } from 'arbalest'

export interface Curriculum {
  /** Numbers of the training samples, the easiest first; in shared memory, so that learners need no copies. */
  readonly order: Int32Array
  /** The share of the samples that is used at first, 0 to 1. */
  readonly first: number
  /** The share of the run after which all samples are used. */
  readonly complete: number
}

/**
 * Begins with easy samples and adds harder ones as training advances.
 *
 * Bengio, Louradour, Collobert and Weston, "Curriculum Learning", ICML 2009.
 */
export default class CurriculumLearner implements LearnerPlugin {
  readonly #context: LearnerContext<Curriculum>
  readonly #random: () => number

  constructor(context: LearnerContext<Curriculum>) {
    this.#context = context
    // The number of a learner is never used again: a learner that replaces a lost one draws other samples.
    this.#random = randomNumbers(context.seed * 10_007 + context.learner)
  }

  async step(): Promise<void> {
    const { options, replica, iteration, iterations } = this.#context
    const available = Math.ceil(options.order.length * shareOf(iteration() / iterations, options))
    await replica.load({ samples: Array.from({ length: replica.batch }, () => options.order[Math.floor(this.#random() * available)]!) })
    await replica.forward()
    await replica.backward()
    await replica.exchange()
    await replica.update()
  }
}

/** The share of the samples that is used when the share `done` of the run is over. */
export function shareOf(done: number, { first, complete }: Pick<Curriculum, 'first' | 'complete'>): number {
  return done >= complete ? 1 : first + ((1 - first) * done) / complete
}

/** From 0 to below 1 (Mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
