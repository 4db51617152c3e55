import { setTimeout as passed } from 'node:timers/promises'
import { ArbalestError } from '../../src/errors.js'
import type { LearnerContext, LearnerPlugin } from '../../src/index.js'

interface WarmOptions {
  readonly temperature: number
  /** Milliseconds after each step, in which others come to change the run before it ends. */
  readonly rest?: number
}

/** Trains with its learning rate times a temperature, which others can change. */
export default class WarmLearner implements LearnerPlugin {
  readonly #context: LearnerContext<WarmOptions>
  #temperature: number
  #dies = false

  constructor(context: LearnerContext<WarmOptions>) {
    this.#context = context
    this.#temperature = context.options.temperature
  }

  async step(): Promise<void> {
    if (this.#dies) throw new RangeError('learner: it dies as it was told')
    this.#context.replica.learningRate = 0.01 * this.#temperature
    await this.#context.replica.run(1)
    const { rest } = this.#context.options
    if (rest !== undefined) await passed(rest)
  }

  /** Answers with the temperature. */
  warm(by: number): number {
    this.#temperature += by
    return this.#temperature
  }

  /** An argument that JSON cannot write. */
  weigh(values: Float32Array): number {
    this.#temperature += values.length
    return values.reduce((sum, value) => sum + value, 0)
  }

  /** In the next step. */
  die(): void {
    this.#dies = true
  }

  fail(): never {
    this.#temperature *= 2
    throw new ArbalestError('INVALID_STATE', 'learner: it fails as it was told')
  }
}
