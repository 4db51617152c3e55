import { ArbalestError } from '../errors.js'
import type { TuningSettings } from '../options/learners.js'
import { asError } from '../runtime/errors-across-threads.js'
import { changedAt, type PopulationSchedule } from '../schedules/population.js'
import type { PopulationControl, PopulationDecision, PopulationProgress, ResizableLearners } from './population-control.js'
import { learners } from './search.js'
import { Tuner, type Decision } from './tuner.js'
import { IdleProcessors, WindowMeter } from './window-meter.js'

/** Milliseconds between two looks at the group: an error of 4% of the shortest default window, and of 1% of a decision. */
const WATCH_EVERY = 20

export interface TunedPopulationOptions {
  readonly start: number
  /** The population so far, if the run goes on from a checkpoint. */
  readonly history?: PopulationSchedule
  readonly tuning: TuningSettings
  /** False if a program has taken over from the tuner before the run was resumed; true if omitted. */
  readonly tunes?: boolean
  readonly run: ResizableLearners
  /** Why there cannot be `to` learners where there are `from`: for want of memory, or since the rule is not stable with so many; undefined if there can be. */
  readonly refusal: (from: number, to: number) => string | undefined
}

/** Measures training for a tuner, carries out its decisions, and records the schedule that results. */
export class TunedPopulation implements PopulationControl {
  readonly watchEvery: number
  readonly #options: TunedPopulationOptions
  #tuner: Tuner
  readonly #least: number
  readonly #meter: WindowMeter
  readonly #idle = new IdleProcessors()
  readonly #decisions: PopulationDecision[] = []
  #schedule: PopulationSchedule
  #learners: number
  /** The decision to carry out next; ready once the learners that it needs have started. */
  #pending: { readonly decision: Decision; ready: boolean } | undefined
  /** Whether the tuner may change the number of learners. */
  #tunes: boolean
  /** An error in the background, thrown at the next change. */
  #failure: { readonly error: unknown } | undefined

  constructor(options: TunedPopulationOptions) {
    const { start, tuning, tunes = true, history = [{ round: 0, learners: start }] } = options
    this.#options = options
    this.#tunes = tunes
    this.#least = Math.min(start, tuning.by)
    this.#tuner = this.#newTuner(start)
    this.#meter = new WindowMeter(tuning.window)
    this.#schedule = history
    this.#learners = start
    this.watchEvery = Math.min(WATCH_EVERY, (1000 * tuning.window) / 10)
  }

  get schedule(): PopulationSchedule {
    return this.#schedule
  }

  get learners(): number {
    return this.#learners
  }

  async resize(round: number, count: number): Promise<void> {
    await this.#options.run.resizeNow(count)
    this.#schedule = changedAt(this.#schedule, { round, learners: count })
    this.#learners = count
    this.tune(false)
  }

  /** The tuner changes nothing any more: what it has measured is of more hosts. */
  lose(round: number, left: number): void {
    this.#schedule = changedAt(this.#schedule, { round, learners: left })
    this.#learners = left
    this.tune(false)
  }

  /** The tuner begins anew with the learners that there are: those end that were started for its next decision. */
  tune(on: boolean): void {
    this.#tunes = on
    this.#pending = undefined
    this.#measureAnew()
    if (on) this.#tuner = this.#newTuner(this.#learners)
    this.#options.run.prepare(this.#learners).catch(() => {})
  }

  restBefore(): number {
    return Infinity
  }

  watch({ seconds, left, ...status }: PopulationProgress): boolean {
    if (!this.#tunes) return false
    if (this.#pending) return this.#isReady()
    // A learner that failed is being replaced: until then another population is training.
    if (status.members.length !== this.#learners) this.#meter.reset()
    const window = this.#meter.observe(status, seconds)
    if (!window) return false
    const idle = this.#idle.take()
    const remaining = Math.min(left.seconds, (left.samples * window.seconds) / window.samples)
    const decision = this.#tuner.observe({ ...window, remaining, ...(idle !== undefined && { idle }) })
    if (decision) this.#prepare(decision)
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
    await this.#options.run.resizeNow(decision.to)
    this.#schedule = changedAt(this.#schedule, { round, learners: decision.to })
    this.#report(decision)
    this.#learners = decision.to
    this.#measureAnew()
    return true
  }

  /** If memory does not hold the learners that train, the next change goes back to fewer; not where a program has taken over from the tuner. */
  leavesVacant(error: Error): boolean {
    const isFull = error instanceof ArbalestError && error.code === 'OUT_OF_MEMORY'
    if (!isFull || !this.#tunes || this.#learners <= this.#least) return false
    const decision = this.#tuner.retreat(this.#learners, `${learners(this.#learners)} are impossible: ${error.message}`)
    this.#pending = { decision, ready: true }
    return true
  }

  takeDecisions(): readonly PopulationDecision[] {
    return this.#decisions.splice(0)
  }

  #newTuner(start: number): Tuner {
    const { most, threshold, by } = this.#options.tuning
    return new Tuner({ start, most: Math.max(start, most), least: this.#least, by, threshold })
  }

  #isReady(): boolean {
    return this.#failure !== undefined || this.#pending?.ready === true
  }

  /** Makes a decision pending, and starts the learners that it needs. */
  #prepare(decision: Decision): void {
    const { to } = decision
    if (to === this.#learners) return this.#report(decision)
    const pending = (this.#pending = { decision, ready: to < this.#learners })
    if (pending.ready) return
    const refusal = this.#options.refusal(this.#learners, to)
    if (refusal !== undefined) return this.#refuse(refusal)
    this.#options.run
      .prepare(to)
      .then(
        () => (pending.ready = true),
        (error: unknown) => this.#pending === pending && this.#refuse(`${learners(to)} are impossible: ${asError(error).message}`)
      )
      .catch((error: unknown) => (this.#failure = { error }))
  }

  #refuse(reason: string): void {
    this.#pending = undefined
    this.#measureAnew()
    this.#prepare(this.#tuner.refuse(reason))
  }

  /** What has been measured since the last window was beside other work: a learner was started, or ended. */
  #measureAnew(): void {
    this.#meter.reset()
    this.#idle.take()
  }

  #report({ action, to, reason, figures }: Decision): void {
    this.#decisions.push({ action, from: this.#learners, to, reason, figures })
  }
}
