import type { LearnerContext, LearnerPlugin } from 'arbalest'

/** Trains as the built-in learner does, and takes weights from others by a message. */
export default class PopulationLearner implements LearnerPlugin {
  readonly #replica: LearnerContext['replica']

  constructor({ replica }: LearnerContext) {
    this.#replica = replica
  }

  step(): Promise<unknown> {
    return this.#replica.run()
  }

  /** A message, handled while all learners rest. `weights`: all parameters one after another, in PyTorch's order. */
  setWeights(weights: Float32Array): void {
    this.#replica.setVector('weights', weights)
  }
}
