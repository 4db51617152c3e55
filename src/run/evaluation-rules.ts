import type { MeasuredModel } from '../checkpoints/resume.js'
import type { PastEvaluation } from '../checkpoints/run-state.js'
import { SCALARS } from '../metrics/metric-names.js'
import type { EarlyEnd, EvaluatedEvent } from '../observe/events.js'
import type { Monitored, UntilSettings } from '../options/until.js'

type Scores = Pick<EvaluatedEvent, 'testAccuracy' | 'testLoss' | 'testMetrics'>

/** The figure of a measurement that counts, so that higher is better: if none is named, accuracy where there is one, else loss. */
export function scoreOf({ testAccuracy, testLoss, testMetrics }: Scores, monitor?: Monitored): number {
  if (monitor === undefined || monitor === 'accuracy') return testAccuracy ?? -testLoss
  if (monitor === 'loss') return -testLoss
  // A run that was resumed with another monitor has not measured the figure before.
  const value = testMetrics?.[monitor] ?? NaN
  if (Number.isNaN(value)) return -Infinity
  return SCALARS[monitor] === 'higher' ? value : -value
}

/** Decides after each measurement whether the run ends. */
export class StoppingRules {
  readonly #until: UntilSettings
  #best: number | undefined
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
    const score = scoreOf(scores, monitor)
    const better = this.#best === undefined || score - this.#best > minDelta
    if (better) this.#best = score
    this.#sinceBest = better ? 0 : this.#sinceBest + 1
    return this.#sinceBest >= patience ? 'patience' : undefined
  }
}

/** What `rules` decide after the measurements that were made before: the last verdict. */
export function replayed(rules: StoppingRules, measurements: readonly PastEvaluation[]): EarlyEnd | undefined {
  return measurements.map(({ event, seconds, unplanned }) => rules.verdict(event, seconds, unplanned)).at(-1)
}

/** Keeps the best central model of all that were measured; of equal ones the one with the lower loss. */
export class BestModel {
  readonly #monitor: Monitored | undefined
  #best: MeasuredModel | undefined

  /** `best`: the best model before the run was resumed. */
  constructor(best?: MeasuredModel, monitor?: Monitored) {
    this.#best = best
    this.#monitor = monitor
  }

  get best(): MeasuredModel | undefined {
    return this.#best
  }

  /** Calls `weights` only if the model is better than all before. */
  async consider(measured: EvaluatedEvent, weights: () => Promise<MeasuredModel['weights']>): Promise<void> {
    if (!Number.isFinite(measured.testLoss)) return
    if (this.#best && !this.#isBetter(measured, this.#best.measured)) return
    this.#best = { measured, weights: await weights() }
  }

  #isBetter(now: EvaluatedEvent, before: EvaluatedEvent): boolean {
    const [score, other] = [scoreOf(now, this.#monitor), scoreOf(before, this.#monitor)]
    return score > other || (score === other && now.testLoss < before.testLoss)
  }
}
