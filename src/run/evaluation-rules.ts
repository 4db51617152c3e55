import type { MeasuredModel } from '../checkpoints/resume.js'
import type { EarlyEnd, EvaluatedEvent } from '../observe/events.js'
import type { Monitored, UntilSettings } from '../options/until.js'

type Scores = Pick<EvaluatedEvent, 'testAccuracy' | 'testLoss'>

/**
 * How much better one measurement is than another: by accuracy where there is one, else by loss. Of equal accuracies the lower loss is better, by the
 * smallest number above 0. With `by` only that score counts.
 */
export function improvement(now: Scores, before: Scores, by?: Monitored): number {
  const { testAccuracy } = now
  const lower = before.testLoss - now.testLoss
  if (by === 'loss' || testAccuracy === null || before.testAccuracy === null) return lower
  return testAccuracy - before.testAccuracy || (by === undefined && lower > 0 ? Number.MIN_VALUE : 0)
}

/** Decides after each measurement whether the run ends. */
export class StoppingRules {
  readonly #until: UntilSettings
  #best: Scores | undefined
  #sinceBest = 0

  constructor(until: UntilSettings) {
    this.#until = until
  }

  /**
   * The condition that ends the run now; undefined to go on. `seconds` of training so far. An unplanned measurement does not count for patience, so that
   * a run that was stopped and resumed ends where an undisturbed run ends.
   */
  verdict(scores: Scores, seconds: number, unplanned = false): EarlyEnd | undefined {
    const { accuracy, loss, seconds: most, patience, minDelta, monitor } = this.#until
    if (accuracy !== undefined && scores.testAccuracy !== null && scores.testAccuracy >= accuracy) return 'accuracy'
    if (loss !== undefined && scores.testLoss <= loss) return 'loss'
    if (seconds >= most) return 'seconds'
    if (unplanned) return undefined
    const by = monitor ?? (scores.testAccuracy === null ? 'loss' : 'accuracy')
    const better = this.#best === undefined || improvement(scores, this.#best, by) > minDelta
    if (better) this.#best = scores
    this.#sinceBest = better ? 0 : this.#sinceBest + 1
    return this.#sinceBest >= patience ? 'patience' : undefined
  }
}

/** Keeps the best central model of all that were measured. */
export class BestModel {
  #best: MeasuredModel | undefined

  /** `best`: the best model before the run was resumed. */
  constructor(best?: MeasuredModel) {
    this.#best = best
  }

  get best(): MeasuredModel | undefined {
    return this.#best
  }

  /** Calls `weights` only if the model is better than all before. */
  async consider(measured: EvaluatedEvent, weights: () => Promise<MeasuredModel['weights']>): Promise<void> {
    if (!Number.isFinite(measured.testLoss)) return
    if (this.#best && !(improvement(measured, this.#best.measured) > 0)) return
    this.#best = { measured, weights: await weights() }
  }
}
