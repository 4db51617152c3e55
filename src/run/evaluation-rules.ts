import type { MeasuredModel } from '../checkpoints/resume.js'
import type { PastEvaluation } from '../checkpoints/run-state.js'
import { isWorthMore, scoreOf, worthOf } from '../checkpoints/model-worth.js'
import type { EarlyEnd, EvaluatedEvent } from '../observe/events.js'
import type { Monitored, UntilSettings } from '../options/until.js'

type Scores = Pick<EvaluatedEvent, 'testAccuracy' | 'testLoss' | 'testMetrics'>

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
    const worth = worthOf(measured, this.#monitor)
    const before = this.#best && worthOf(this.#best.measured, this.#monitor)
    if (!worth || (before && !isWorthMore(worth, before))) return
    this.#best = { measured, weights: await weights() }
  }
}
