import type { MeasuredModel } from '../checkpoints/resume.js'
import type { EvaluatedEvent } from '../observe/events.js'
import { improvement } from './stopping.js'

/** Remembers the central model that was measured best: by accuracy, by loss where there is none or it is the same. */
export class BestModel {
  #best: MeasuredModel | undefined

  /** `best` of before the run was resumed. */
  constructor(best?: MeasuredModel) {
    this.#best = best
  }

  get best(): MeasuredModel | undefined {
    return this.#best
  }

  /** `weights` are asked for only where they are worth it. */
  async consider(measured: EvaluatedEvent, weights: () => Promise<MeasuredModel['weights']>): Promise<void> {
    if (!Number.isFinite(measured.testLoss)) return
    if (this.#best && !(improvement(measured, this.#best.measured) > 0)) return
    this.#best = { measured, weights: await weights() }
  }
}
