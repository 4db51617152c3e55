import type { LearnerContext, LearnerPlugin } from './learner-plugin.js'

/** The learner of a job that names no other: the engine's own loop over whole steps. */
export class NativeLearner implements LearnerPlugin {
  readonly #replica: LearnerContext['replica']

  constructor({ replica }: LearnerContext) {
    this.#replica = replica
  }

  step(): Promise<unknown> {
    return this.#replica.run()
  }
}

export default NativeLearner
