import type { LearnerContext, LearnerPlugin } from '../../src/index.js'

export interface MortalOptions {
  /** Steps that a learner lives on average; it does not die without. */
  readonly life: number | null
}

/** Trains, and dies in a random step after its first one: before any of its segments, by an error or by the end of its thread. */
export default class MortalLearner implements LearnerPlugin {
  readonly #context: LearnerContext<MortalOptions>
  /** Segments to live. */
  #left: number

  constructor(context: LearnerContext<MortalOptions>) {
    this.#context = context
    const { life } = context.options
    this.#left = 6 - Math.floor(5 * (life ?? Infinity) * Math.log(1 - Math.random()))
  }

  async step(): Promise<void> {
    const { replica } = this.#context
    for (const segment of ['load', 'forward', 'backward', 'exchange', 'update'] as const) {
      if (this.#left-- <= 0) this.#die()
      await replica[segment]()
    }
  }

  #die(): never {
    if (Math.random() < 0.1) process.exit(1)
    throw new RangeError('learner: its time has come')
  }
}
