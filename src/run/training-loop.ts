import type { GroupStatus } from '../engine/contract.js'
import { ArbalestError } from '../errors.js'
import { iterationSamples } from '../options/settings.js'
import { REAL_CLOCK, type Cancel } from '../runtime/clock.js'
import { highestLearningRate } from '../schedules/curves.js'
import type { PopulationControl } from '../tuner/population-control.js'
import type { RunActors } from './start-actors.js'
import type { JobControl } from './job.js'
import type { PreparedRun } from './prepare.js'
import { ProgressMeter } from './progress-meter.js'
import type { Schedule } from './schedule.js'

/** Milliseconds between two progress events. */
const PROGRESS_EVERY = 200

export interface TrainingLoopOptions {
  readonly run: PreparedRun
  readonly actors: RunActors
  readonly population: PopulationControl
}

/** Lets the learners train until they rest again, and meanwhile emits progress and watches for reasons to rest early. */
export class TrainingLoop {
  readonly #options: TrainingLoopOptions
  readonly #control: JobControl
  readonly #meter: ProgressMeter
  #schedule: Schedule

  constructor(options: TrainingLoopOptions, control: JobControl) {
    const { run } = options
    this.#options = options
    this.#control = control
    this.#schedule = run.schedule
    const from = run.resumption?.state
    this.#meter = new ProgressMeter({
      samples: run.dataset.train.count,
      batch: iterationSamples(run.settings),
      ...this.#schedule,
      ...(from && { from })
    })
  }

  /** Of training so far. */
  get seconds(): number {
    return this.#meter.seconds
  }

  /** For the present population. */
  get schedule(): Schedule {
    return this.#schedule
  }

  /** Changes the schedule of the rounds to come. */
  async follow(schedule: Schedule): Promise<void> {
    this.#schedule = schedule
    this.#meter.follow(schedule)
    await this.#options.actors.synchroniser.ask.follow(schedule)
  }

  /** Trains until this round, or an earlier one if the run is stopped, its time is over or its population shall change. Returns the round. */
  async trainUntil(round: number): Promise<number> {
    const { synchroniser, supervisor } = this.#options.actors
    await synchroniser.ask.pauseAt(round)
    const restSoon = () => synchroniser.tell.pauseSoon()
    this.#control.stop.addEventListener('abort', restSoon, { once: true })
    if (this.#control.stop.aborted) restSoon()
    const ticks = setInterval(() => void this.#emitProgress().catch(() => {}), PROGRESS_EVERY)
    const watch = this.#watchPopulation()
    this.#meter.start()
    const cancelTimeLimit = this.#afterSeconds(this.#options.run.settings.until.seconds - this.seconds, restSoon)
    try {
      await Promise.race([supervisor.askWith({ deadline: Infinity }).train(), watch.failed])
    } finally {
      this.#meter.pause()
      clearInterval(ticks)
      watch.end()
      cancelTimeLimit()
      this.#control.stop.removeEventListener('abort', restSoon)
    }
    const status = await this.#emitProgress()
    await this.#checkFinite(status)
    return status.round
  }

  /**
   * Shows the group's status to the population control as often as it asks for, and makes the learners rest soon if it wants a change. `failed` rejects
   * with the error of the control.
   */
  #watchPopulation(): { readonly failed: Promise<never>; readonly end: () => void } {
    const { actors, population, run } = this.#options
    let rests = false
    const look = (status: GroupStatus) => {
      if (rests) return
      const { seconds } = this.#meter
      const left = { samples: this.#schedule.endPosition - status.position, seconds: run.settings.until.seconds - seconds }
      rests = population.watch({ ...status, seconds, left })
      this.emitDecisions(status)
      if (rests) actors.synchroniser.tell.pauseSoon()
    }
    let fail!: (error: unknown) => void
    const failed = new Promise<never>((_, reject) => (fail = reject))
    // A failure to answer is ignored here: the call that trains fails as well.
    const ask = () =>
      void actors.synchroniser.ask
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

  #afterSeconds(seconds: number, work: () => void): Cancel {
    // A timer may fire up to a millisecond early.
    return REAL_CLOCK.after(Math.max(0, Math.ceil(seconds * 1000) + 1), work)
  }

  async #emitProgress(): Promise<GroupStatus> {
    const { synchroniser, dataWaited } = this.#options.actors
    const status = await synchroniser.ask.status()
    const event = this.#meter.event(status, await synchroniser.ask.losses(this.#meter.iteration), dataWaited())
    if (event) this.#control.emit(event)
    return status
  }

  /** Emits the decisions about the population since the last call. */
  emitDecisions({ round, iterations: iteration }: GroupStatus): void {
    for (const decision of this.#options.population.takeDecisions())
      this.#control.emit({ event: 'population', round, iteration, iterations: this.#schedule.iterations, ...decision })
  }

  /** Throws LOSS_NOT_FINITE. Also looks at the weights: a ReLU turns NaN into 0, so that a diverged model can have a finite loss. */
  async #checkFinite({ notFiniteAt, iterations }: GroupStatus): Promise<void> {
    if (notFiniteAt >= 0) throw this.#notFinite('the loss was not a finite number', notFiniteAt)
    if (!(await this.#options.actors.synchroniser.ask.isFinite()))
      throw this.#notFinite('the central model had weights that are not finite numbers', iterations)
  }

  #notFinite(what: string, iteration: number): ArbalestError {
    const { run, population } = this.#options
    const { optimiser, learningRateScale } = run.settings
    const learningRate = highestLearningRate(optimiser.learningRate) / (optimiser.isShared ? population.schedule.at(-1)!.learners : 1)
    const message = `optimiser.learningRate: received ${learningRate}; ${what} at iteration ${iteration}: use a lower learning rate`
    return new ArbalestError('LOSS_NOT_FINITE', message, { data: { iteration, learningRate, learningRateScale } })
  }
}
