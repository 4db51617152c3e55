import type { LearnerContext, LearnerPlugin } from '../../src/learner/learner-plugin.js'

export interface Stumble {
  /** One number: 1 once a learner has stumbled, so that no other does. */
  readonly stumbled: SharedArrayBuffer
  /** The first iteration at which a learner stumbles. */
  readonly from: number
}

/** A learner of single steps, one of which has an enormous learning rate. */
export class StumblingLearner implements LearnerPlugin {
  readonly #context: LearnerContext<Stumble>

  constructor(context: LearnerContext<Stumble>) {
    this.#context = context
  }

  async step(): Promise<void> {
    const { options, replica, iteration } = this.#context
    const stumbles = iteration() >= options.from && Atomics.exchange(new Int32Array(options.stumbled), 0, 1) === 0
    replica.learningRate = stumbles ? 1e30 : undefined
    await replica.run(1)
  }
}

export default StumblingLearner
