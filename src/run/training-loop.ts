import type { GroupStatus } from '../engine/contract.js'
import type { ArbalestError } from '../errors.js'
import { iterationSamples } from '../options/settings.js'
import { moduleRefusal } from '../own-module.js'
import { REAL_CLOCK, type Cancel } from '../runtime/clock.js'
import { highestLearningRate } from '../schedules/curves.js'
import { changedHighest } from '../schedules/interventions.js'
import type { PopulationControl } from '../tuner/population-control.js'
import { notFinite } from './diverged.js'
import { leaderOf } from './hosts/meeting.js'
import type { Interventions } from './changes/interventions.js'
import type { RunActors } from './start/run-actors.js'
import type { JobControl } from './job.js'
import type { PreparedRun } from './prepare/prepare.js'
import { ProgressMeter } from './report/progress-meter.js'
import { ProgressReports } from './report/progress-reports.js'
import type { Schedule } from './schedule.js'

/** Milliseconds between two looks at the progress. */
const PROGRESS_EVERY = 200
/** The same for exact reports, which learners must not be far ahead of. */
const EXACT_PROGRESS_EVERY = 50

export interface TrainingLoopOptions {
  readonly run: PreparedRun
  readonly actors: RunActors
  readonly population: PopulationControl
  readonly interventions: Interventions
  /** Waits for the work of a function of the user's while the learners rest. */
  readonly during: <Result>(work: Promise<Result>) => Promise<Result>
}

/** Lets the learners train until they rest again, and meanwhile emits progress and watches for reasons to rest early. */
export class TrainingLoop {
  readonly #options: TrainingLoopOptions
  readonly #control: JobControl
  readonly #meter: ProgressMeter
  readonly #reports: ProgressReports
  #schedule: Schedule
  /** The round before which the learners shall rest instead of the one that they were told at first; Infinity if it is that one. */
  #restsEarlier = Infinity

  constructor(options: TrainingLoopOptions, control: JobControl) {
    const { run } = options
    this.#options = options
    this.#control = control
    this.#schedule = run.schedule
    const from = run.resumption?.state
    const { settings } = run
    const every = settings.logEvery
    this.#meter = new ProgressMeter({
      samples: run.dataset.train.count,
      batch: iterationSamples(settings),
      ...this.#schedule,
      ...(from && { from }),
      ...(every !== undefined && { every }),
      ...(run.hosts && { learners: () => options.population.learners })
    })
    this.#reports = new ProgressReports({ ...options, settings, hosts: run.hosts, meter: this.#meter }, control)
  }

  /** Of training so far. */
  get seconds(): number {
    return this.#meter.seconds
  }

  /** What `onStep` has thrown: the run is to end. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#reports.failure
  }

  /** For the present population. */
  get schedule(): Schedule {
    return this.#schedule
  }

  /** Changes the schedule of the rounds to come. */
  async changeSchedule(schedule: Schedule): Promise<void> {
    this.#schedule = schedule
    this.#meter.changeSchedule(schedule)
    await this.#options.actors.synchroniser.ask.follow(schedule)
    const { learningRates, restarts, iterations } = schedule
    leaderOf(this.#options.run.hosts)?.order({ order: 'follow', schedule: { learningRates, restarts, iterations } })
  }

  /** All learners come to rest before this round, those too that have just joined: their first step has begun, and waits. */
  async gather(round: number): Promise<void> {
    const { synchroniser, supervisor } = this.#options.actors
    const leader = leaderOf(this.#options.run.hosts)
    // A group over hosts rests until all of them lift the pause.
    if (leader) leader.order({ order: 'gather' })
    else await synchroniser.ask.pauseAt(round)
    await supervisor.askWith({ deadline: Infinity }).train()
  }

  /** The run ends before this round, at which all learners rest, and earlier than its schedule says: they push the updates that they still have. */
  async endBefore(round: number): Promise<void> {
    const { actors, run } = this.#options
    const { rule } = run.settings
    if (rule.kind !== 'asynchronous' || rule.exchange.kind !== 'push' || rule.exchange.push === 1) return
    const { iterations } = await actors.synchroniser.ask.status()
    await actors.synchroniser.ask.follow({ ...this.#schedule, iterations })
    await this.gather(round)
  }

  /** Trains from a round until a later one, or an earlier one than that if the run is stopped, its time is over or it shall be changed. Returns the round. */
  async trainUntil(round: number, from: number): Promise<number> {
    const { synchroniser } = this.#options.actors
    const { requests } = this.#options.interventions
    this.#restsEarlier = Infinity
    let rest = this.#reports.restBefore(round, this.#schedule)
    await synchroniser.ask.pauseAt(rest)
    const restSoon = () => this.#restSoon()
    const restForRequest = () => this.#restSoon(requests.nextRest)
    const endRequests = requests.watch(restForRequest)
    if (requests.isWaiting) restForRequest()
    this.#control.stop.addEventListener('abort', restSoon, { once: true })
    if (this.#control.stop.aborted) restSoon()
    /** How far the learners may go on now that the reports have followed; undefined if they have arrived or shall rest here. */
    const nextRest = (): number | undefined => {
      if (this.#reports.failure) restSoon()
      if (this.#restsEarlier < Infinity || rest === round) return undefined
      return this.#reports.restBefore(round, this.#schedule)
    }
    /** While they train: unless some of them may rest already. */
    const extend = async (): Promise<void> => {
      const next = nextRest()
      if (next !== undefined && (await synchroniser.ask.extendPause(next))) rest = next
    }
    /** Once all of them rest. */
    const goOn = async (): Promise<boolean> => {
      const next = nextRest()
      if (next === undefined) return false
      rest = next
      await synchroniser.ask.pauseAt(rest)
      return true
    }
    const leader = leaderOf(this.#options.run.hosts)
    leader?.goOnWithoutLost(restSoon)
    if (leader?.hasLost) restSoon()
    const watch = this.#watchPopulation()
    const cancelTimeLimit = this.#afterSeconds(this.#options.run.settings.until.seconds - this.seconds, restSoon)
    let status: GroupStatus
    try {
      do status = await this.#trainUntilRest(rest, watch.failed, extend)
      while (status.round >= rest && (await goOn()))
    } finally {
      endRequests()
      watch.end()
      cancelTimeLimit()
      this.#control.stop.removeEventListener('abort', restSoon)
    }
    await this.#checkFinite(status)
    await this.#checkTrained(status, from)
    return status.round
  }

  /** Trains until the learners rest, and reports their progress. Calls `reported` after each report before. */
  async #trainUntilRest(rest: number, failed: Promise<never>, reported: () => Promise<unknown>): Promise<GroupStatus> {
    const leader = leaderOf(this.#options.run.hosts)
    let rests = false
    const tick = async (): Promise<void> => {
      if (this.#reports.isBusy) return
      await this.#report()
      // The hosts agree on a rest before they train.
      if (!rests && !leader) await reported()
    }
    const ticks = setInterval(() => void tick().catch(() => {}), this.#reports.areExact ? EXACT_PROGRESS_EVERY : PROGRESS_EVERY)
    this.#meter.start()
    try {
      leader?.order({ order: 'train', until: rest })
      const failures = leader ? [failed, leader.failed] : [failed]
      await Promise.race([this.#options.actors.supervisor.askWith({ deadline: Infinity }).train(), ...failures])
    } finally {
      rests = true
      this.#meter.pause()
      clearInterval(ticks)
    }
    const report = this.#report()
    return this.#options.run.settings.onStep ? this.#options.during(report) : report
  }

  #report(): Promise<GroupStatus> {
    return this.#reports.report(this.#schedule.iterations)
  }

  /** The learners rest before this round, or before the first that none of them has entered. A rest that was asked for comes no later. */
  #restSoon(earliest = 0): void {
    this.#restsEarlier = Math.min(this.#restsEarlier, earliest)
    this.#options.actors.synchroniser.tell.pauseAt(this.#restsEarlier)
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
      const members = run.hosts?.host.membersOfAll(status.members, population.learners) ?? status.members
      rests = population.watch({ ...status, members, seconds, left })
      this.emitDecisions(status)
      if (rests) this.#restSoon()
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

  /**
   * Throws INVALID_OPTION if a supervisor of the user's own has answered as if the learners had trained, and none does, though none was to rest yet: the run
   * would ask it for ever. One that answers too early, while they train, is asked again.
   */
  async #checkTrained({ round }: GroupStatus, from: number): Promise<void> {
    const { run, actors } = this.#options
    const { supervisor } = run.settings
    if (!supervisor || run.hosts || round > from || this.#restsEarlier < Infinity) return
    const { places } = await actors.learners.population()
    if (places.some(({ state }) => state === 'training' || state === 'starting')) return
    const mention = { parameter: 'supervisor', module: supervisor.href }
    throw moduleRefusal(mention, 'its method train answers, and no learner trains; let it answer what super.train() answers')
  }

  #notFinite(what: string, iteration: number): ArbalestError {
    const { run, population, interventions } = this.#options
    const { optimiser, learningRateScale } = run.settings
    const given = highestLearningRate(optimiser.learningRate) / (optimiser.isShared ? population.schedule.at(-1)!.learners : 1)
    const set = changedHighest(given, interventions.record.made)
    return notFinite(what, { iteration, learningRate: set ?? given, learningRateScale }, { isSet: set !== undefined })
  }
}
