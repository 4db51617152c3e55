import { setTimeout as sleep } from 'node:timers/promises'
import type { LearnerContext, LearnerPlugin, LearnerReplica } from './arbalest.js'

export interface StallOptions {
  /** Steps between two stalls in the mean; 0 for none. */
  readonly every: number
  /** How long a stall is. */
  readonly milliseconds: number
}

/** Steps as the built-in learner does, and stands still at random: each learner at moments of its own, the same ones for the same seed. */
export default class StallingLearner implements LearnerPlugin {
  readonly #replica: LearnerReplica
  readonly #options: StallOptions
  #state: number

  constructor({ replica, options, rank, seed }: LearnerContext<StallOptions>) {
    this.#replica = replica
    this.#options = options
    this.#state = seed * 1000 + rank
  }

  async step(): Promise<void> {
    const { every, milliseconds } = this.#options
    if (every > 0 && this.#random() < 1 / every) await sleep(milliseconds)
    await this.#replica.run(1)
  }

  /** In [0, 1): the generator of Numerical Recipes. */
  #random(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return this.#state / 2 ** 32
  }
}
