import type { LearnerContext, LearnerPlugin } from './learner-plugin.js'

/** The learner of a job that names no other: it runs whole steps in the engine's own loop. */
export default class BuiltInLearner implements LearnerPlugin {
  readonly #replica: LearnerContext['replica']

  constructor({ replica }: LearnerContext) {
    this.#replica = replica
  }

  step(): Promise<unknown> {
    return this.#replica.run()
  }
}
