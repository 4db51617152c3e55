import type { EarlyEnd, EvaluatedEvent } from '../observe/events.js'
import type { UntilSettings, Watched } from '../options/until.js'

type Measured = Pick<EvaluatedEvent, 'testAccuracy' | 'testLoss'>

/** By how much a measurement is better than another one; of equal accuracies that with the lower loss is, by next to nothing. */
export function improvement(now: Measured, before: Measured, by?: Watched): number {
  const { testAccuracy } = now
  const lower = before.testLoss - now.testLoss
  if (by === 'loss' || testAccuracy === null || before.testAccuracy === null) return lower
  return testAccuracy - before.testAccuracy || (by === undefined && lower > 0 ? Number.MIN_VALUE : 0)
}

/** Decides after each measurement whether a run shall end. */
export class StoppingRules {
  readonly #until: UntilSettings
  #best: Measured | undefined
  #since = 0

  constructor(until: UntilSettings) {
    this.#until = until
  }

  /**
   * Why to end now; undefined to go on. `seconds` of training so far. An unplanned measurement leaves patience as it was, so that a run that was
   * stopped and goes on ends where it would have ended undisturbed.
   */
  verdict(measured: Measured, seconds: number, unplanned = false): EarlyEnd | undefined {
    const { accuracy, loss, seconds: most, patience, minDelta, monitor: watch } = this.#until
    if (accuracy !== undefined && measured.testAccuracy !== null && measured.testAccuracy >= accuracy) return 'accuracy'
    if (loss !== undefined && measured.testLoss <= loss) return 'loss'
    if (seconds >= most) return 'seconds'
    if (unplanned) return undefined
    const by = watch ?? (measured.testAccuracy === null ? 'loss' : 'accuracy')
    const better = this.#best === undefined || improvement(measured, this.#best, by) > minDelta
    if (better) this.#best = measured
    this.#since = better ? 0 : this.#since + 1
    return this.#since >= patience ? 'patience' : undefined
  }
}
