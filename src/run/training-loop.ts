import type { GroupStatus } from '../engine/contract.js'
import { ArbalestError } from '../errors.js'
import { REAL_CLOCK, type Cancel } from '../runtime/clock.js'
import type { CourseOptions } from './run-loop-options.js'
import type { Crew } from './run-actors.js'
import type { JobControl } from './job.js'
import { ProgressMeter } from './progress-meter.js'
import { peakOf } from '../schedules/rate-schedule.js'
import type { Schedule } from './schedule.js'
import { iterationSamples } from '../options/settings.js'

/** How often a run tells how far it is, in milliseconds. */
const PROGRESS_EVERY = 200

/** The legs of a run's way: from one round at which the learners rest to the next. */
export class CourseLegs {
  readonly #crew: Crew
  readonly #run: CourseOptions
  readonly #control: JobControl
  readonly #meter: ProgressMeter
  #schedule: Schedule

  constructor(crew: Crew, options: CourseOptions, control: JobControl) {
    this.#crew = crew
    this.#run = options
    this.#control = control
    this.#schedule = options.schedule
    const from = options.resumes?.state
    this.#meter = new ProgressMeter({
      samples: options.samples,
      batch: iterationSamples(options.settings),
      ...options.schedule,
      ...(from && { from })
    })
  }

  /** Of training so far. */
  get seconds(): number {
    return this.#meter.seconds
  }

  /** As the population is now. */
  get schedule(): Schedule {
    return this.#schedule
  }

  /** Another population trains: what is to come is reckoned anew, and what has been stays. */
  async follow(schedule: Schedule): Promise<void> {
    this.#schedule = schedule
    this.#meter.follow(schedule)
    await this.#crew.synchroniser.ask.follow(schedule)
  }

  /** Until this round, or an earlier one where the run is to be stopped or its population to change. Returns the round. */
  async trainUntil(round: number): Promise<number> {
    const { synchroniser, supervisor } = this.#crew
    await synchroniser.ask.pauseAt(round)
    const stop = () => synchroniser.tell.pauseSoon()
    this.#control.stop.addEventListener('abort', stop, { once: true })
    if (this.#control.stop.aborted) stop()
    const ticks = setInterval(() => void this.#tellProgress().catch(() => {}), PROGRESS_EVERY)
    const watch = this.#watch()
    this.#meter.start()
    const withdrawLimit = this.#stopAfter(this.#run.settings.until.seconds - this.seconds, stop)
    try {
      await Promise.race([supervisor.askWith({ deadline: Infinity }).train(), watch.failed])
    } finally {
      this.#meter.pause()
      clearInterval(ticks)
      watch.end()
      withdrawLimit()
      this.#control.stop.removeEventListener('abort', stop)
    }
    const status = await this.#tellProgress()
    await this.#checkFinite(status)
    return status.round
  }

  /**
   * Lets the population's control look while the learners train, as often as it wants to; they rest soon where it wants a change. `failed` rejects
   * with what it throws.
   */
  #watch(): { readonly failed: Promise<never>; readonly end: () => void } {
    const { population } = this.#run
    const { synchroniser } = this.#crew
    let rests = false
    const look = (status: GroupStatus) => {
      if (rests) return
      const { seconds } = this.#meter
      const left = { samples: this.#schedule.endPosition - status.position, seconds: this.#run.settings.until.seconds - seconds }
      rests = population.watch({ ...status, seconds, left })
      this.tellPopulation(status)
      if (rests) synchroniser.tell.pauseSoon()
    }
    let fail!: (error: unknown) => void
    const failed = new Promise<never>((_, reject) => (fail = reject))
    // A group that does not answer is met by whoever waits for its learners.
    const ask = () =>
      void synchroniser.ask
        .status()
        .then(look, () => {})
        .catch(fail)
    const timer = population.watchEvery === Infinity ? undefined : setInterval(ask, population.watchEvery)
    const end = () => {
      rests = true
      clearInterval(timer)
    }
    return { failed, end }
  }

  #stopAfter(seconds: number, stop: () => void): Cancel {
    // A timer may be early by less than a millisecond.
    return REAL_CLOCK.after(Math.max(0, Math.ceil(seconds * 1000) + 1), stop)
  }

  async #tellProgress(): Promise<GroupStatus> {
    const { synchroniser } = this.#crew
    const status = await synchroniser.ask.status()
    const event = this.#meter.event(status, await synchroniser.ask.losses(this.#meter.iteration), this.#crew.dataWaited())
    if (event) this.#control.emit(event)
    return status
  }

  /** Tells what has been decided of the population since it was told last. */
  tellPopulation({ round, iterations: iteration }: GroupStatus): void {
    for (const news of this.#run.population.news())
      this.#control.emit({ event: 'population', round, iteration, iterations: this.#schedule.iterations, ...news })
  }

  /** A ReLU may take for a zero what is no number: a model that has diverged can have a loss that looks sound. */
  async #checkFinite({ notFiniteAt, iterations }: GroupStatus): Promise<void> {
    if (notFiniteAt >= 0) throw this.#notFinite('the loss was not a finite number', notFiniteAt)
    if (!(await this.#crew.synchroniser.ask.isFinite()))
      throw this.#notFinite('the central model had weights that are not finite numbers', iterations)
  }

  #notFinite(what: string, iteration: number): ArbalestError {
    const { optimiser, learningRateScale } = this.#run.settings
    const learningRate = peakOf(optimiser.learningRate) / (optimiser.isShared ? this.#run.population.schedule.at(-1)!.learners : 1)
    const message = `optimiser.learningRate: received ${learningRate}; ${what} at iteration ${iteration}: use a lower learning rate`
    return new ArbalestError('LOSS_NOT_FINITE', message, { data: { iteration, learningRate, learningRateScale } })
  }
}
