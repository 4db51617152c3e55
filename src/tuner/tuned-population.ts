import type { Supervisor } from '../actors/supervisor.js'
import { ArbalestError } from '../errors.js'
import { learners } from './search.js'
import { Tuner, type Decision } from './tuner.js'
import { asError } from '../runtime/errors-across-threads.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import { IdleProcessors } from './idle-processors.js'
import { changedAt, type PopulationSchedule } from '../schedules/population.js'
import type { PopulationControl, PopulationDecision, PopulationProgress } from './population-control.js'
import type { TuningSettings } from '../options/learners.js'
import { WindowMeter } from './window-meter.js'

/** A look at the group errs by so many milliseconds: 4% of the shortest default window, 1% of what is decided on. */
const WATCH_EVERY = 20

export interface TunedPopulationOptions {
  readonly start: number
  /** What has been already, in a run that goes on from a checkpoint. */
  readonly history?: PopulationSchedule
  readonly tuning: TuningSettings
  readonly supervisor: ActorRef<Supervisor>
  /** Whether memory holds so many learners more, and if not why. */
  readonly refusal: (more: number) => string | undefined
}

/** Measures while the learners train and does what the tuner decides; keeps the schedule that comes of it. */
export class TunedPopulation implements PopulationControl {
  readonly watchEvery: number
  readonly #options: TunedPopulationOptions
  readonly #tuner: Tuner
  readonly #least: number
  readonly #meter: WindowMeter
  readonly #idle = new IdleProcessors()
  readonly #decisions: PopulationDecision[] = []
  #schedule: PopulationSchedule
  #learners: number
  /** What has been decided; ready once the learners that it needs are up. */
  #pending: { readonly decision: Decision; ready: boolean } | undefined
  /** What went wrong where nobody listens: met at the next change. */
  #failure: { readonly error: unknown } | undefined

  constructor(options: TunedPopulationOptions) {
    const { start, tuning, history = [{ round: 0, learners: start }] } = options
    this.#options = options
    const { most, threshold, by } = tuning
    this.#least = Math.min(start, by)
    this.#tuner = new Tuner({ start, most, least: this.#least, by, threshold })
    this.#meter = new WindowMeter(tuning.window)
    this.#schedule = history
    this.#learners = start
    this.watchEvery = Math.min(WATCH_EVERY, (1000 * tuning.window) / 10)
  }

  get schedule(): PopulationSchedule {
    return this.#schedule
  }

  restBefore(): number {
    return Infinity
  }

  watch({ seconds, left, ...status }: PopulationProgress): boolean {
    if (this.#pending) return this.#isReady()
    // Who was lost is being replaced: what is measured meanwhile is not this population's.
    if (status.members.length !== this.#learners) this.#meter.reset()
    const window = this.#meter.observe(status, seconds)
    if (!window) return false
    const idle = this.#idle.take()
    const remaining = Math.min(left.seconds, (left.samples * window.seconds) / window.samples)
    const decision = this.#tuner.observe({ ...window, remaining, ...(idle !== undefined && { idle }) })
    if (decision) this.#take(decision)
    return this.#isReady()
  }

  isDue(): boolean {
    return this.#isReady()
  }

  async change(round: number): Promise<boolean> {
    if (this.#failure) throw this.#failure.error
    const pending = this.#pending
    if (!pending) return false
    this.#pending = undefined
    const { decision } = pending
    await this.#options.supervisor.askWith({ deadline: Infinity }).resize(decision.to)
    this.#schedule = changedAt(this.#schedule, { round, learners: decision.to })
    this.#tell(decision)
    this.#learners = decision.to
    this.#meter.reset()
    this.#idle.take()
    return true
  }

  /** There are more learners than memory holds: back to fewer. */
  leavesVacant(error: Error): boolean {
    if (!(error instanceof ArbalestError) || error.code !== 'OUT_OF_MEMORY' || this.#learners <= this.#least) return false
    const decision = this.#tuner.retreat(this.#learners, `${learners(this.#learners)} cannot be had: ${error.message}`)
    this.#pending = { decision, ready: true }
    return true
  }

  takeDecisions(): readonly PopulationDecision[] {
    return this.#decisions.splice(0)
  }

  #isReady(): boolean {
    return this.#failure !== undefined || this.#pending?.ready === true
  }

  #take(decision: Decision): void {
    const { to } = decision
    if (to === this.#learners) return this.#tell(decision)
    const pending = (this.#pending = { decision, ready: to < this.#learners })
    if (pending.ready) return
    const refusal = this.#options.refusal(to - this.#learners)
    if (refusal !== undefined) return this.#refuse(refusal)
    this.#options.supervisor
      .askWith({ deadline: Infinity })
      .prepare(to)
      .then(
        () => (pending.ready = true),
        (error: unknown) => this.#refuse(`${learners(to)} cannot be had: ${asError(error).message}`)
      )
      .catch((error: unknown) => (this.#failure = { error }))
  }

  #refuse(reason: string): void {
    this.#pending = undefined
    this.#take(this.#tuner.refuse(reason))
  }

  #tell({ action, to, reason, figures }: Decision): void {
    this.#decisions.push({ action, from: this.#learners, to, reason, figures })
  }
}
