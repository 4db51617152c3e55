import { createHash } from 'node:crypto'
import type { Findings } from '../actors/evaluator.js'
import type { GroupStatus } from '../engine/contract.js'
import { ArbalestError } from '../errors.js'
import { BestModel, type MeasuredModel } from './best-model.js'
import type { Checkpointing, EvaluatorsState } from './checkpointing.js'
import type { Crew } from './crew.js'
import type { EvaluatedEvent, FinishedEvent } from './events.js'
import type { JobControl } from './job.js'
import { learnersAt, type PopulationSchedule } from './population.js'
import { perSecond, ProgressMeter } from './progress-meter.js'
import { peakOf } from './rates/rate-schedule.js'
import type { PopulationControl } from './population-control.js'
import type { Measurement, RunState } from './run-state.js'
import type { RunIdentity } from './run-identity.js'
import type { Schedule } from './schedule.js'
import type { Trace } from './trace.js'
import { iterationSamples, type Settings } from './settings.js'
import { StoppingRules } from './stopping.js'

/** How often a run tells how far it is, in milliseconds. */
const PROGRESS_EVERY = 200

/** A timer takes no more milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1

export interface CourseOptions {
  readonly schedule: Schedule
  readonly population: PopulationControl
  readonly trace: Trace | undefined
  readonly checkpoints: Checkpointing | undefined
  /** Where the run goes on from, and the best model so far. */
  readonly resumes: { readonly state: RunState; readonly best: MeasuredModel | undefined } | undefined
  readonly identity: RunIdentity
  /** The run's schedule where another population trains. */
  readonly reschedule: (population: PopulationSchedule) => Schedule
  readonly settings: Settings
  /** In the training set. */
  readonly samples: number
  /** Of a sample, that can be right or wrong. */
  readonly answers: number
  /** Whether the answers are the tokens of a text. */
  readonly writes: boolean
}

/** A run's way from measurement to measurement. */
export class Course {
  readonly #crew: Crew
  readonly #run: CourseOptions
  readonly #control: JobControl
  readonly #meter: ProgressMeter
  #schedule: Schedule
  /** With the seconds of training behind each. */
  readonly #measurements: Measurement[]

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
    this.#measurements = [...(from?.measurements ?? [])]
  }

  /** As the population is now. */
  get schedule(): Schedule {
    return this.#schedule
  }

  async finish(): Promise<FinishedEvent> {
    const { stop } = this.#control
    const { population, settings, checkpoints, resumes } = this.#run
    const rules = new StoppingRules(settings.until)
    const best = new BestModel(resumes?.best)
    let ended = this.#measurements.map(({ event, seconds }) => rules.verdict(event, seconds)).at(-1) as FinishedEvent['reason'] | undefined
    let measured: EvaluatedEvent | undefined
    // What is learnt by heart is seen beside what was known before.
    if (settings.trial.overfit !== undefined) this.#control.emit(await this.#measure())
    for (let round = resumes?.state.round ?? 0; round < this.#schedule.rounds && !ended;) {
      const due = this.#schedule.measuredAfter(round)
      const rest = Math.min(due, population.restBefore(round), checkpoints?.restBefore(round, this.#schedule) ?? Infinity)
      if (!stop.aborted) round = await this.#trainUntil(rest)
      else if (measured) break
      const measures = round >= due || stop.aborted || this.#meter.seconds >= settings.until.seconds
      // Whoever stops a run may not have the patience for a measurement: what has been trained is safe before it.
      if (stop.aborted || (!measures && checkpoints?.isDue(round, this.#schedule))) await this.#save({ evaluators: 'idle' })
      if (measures) {
        measured = await this.#measureSafely()
        this.#measurements.push({ event: measured, seconds: this.#meter.seconds })
        ended = await this.#judge(measured, rules, best)
        await this.#save({ measured, evaluators: 'measured' })
      }
      if (!ended && round < this.#schedule.rounds) await this.#change(round)
      this.#tellPopulation(await this.#crew.synchroniser.ask.status())
    }
    // A run that had ended when it was resumed holds no measured model yet.
    measured ??= await this.#measure()
    await checkpoints?.settled()
    return this.#finishedEvent(await this.#kept(measured, best), ended)
  }

  /** A stop in the middle of a measurement is met by a checkpoint at once: the learners rest, and nothing changes meanwhile. */
  async #measureSafely(): Promise<EvaluatedEvent> {
    const { stop } = this.#control
    const save = () => void this.#save({ evaluators: 'measuring' }).catch(() => {})
    stop.addEventListener('abort', save, { once: true })
    try {
      return await this.#measure()
    } finally {
      stop.removeEventListener('abort', save)
    }
  }

  /** A checkpoint of what is now, with the measurement of this very central model where there is one. */
  async #save({ measured, evaluators }: { measured?: EvaluatedEvent; evaluators: EvaluatorsState }): Promise<void> {
    const { checkpoints, population, identity } = this.#run
    if (!checkpoints) return
    const { round, iterations: iteration } = await this.#crew.synchroniser.ask.status()
    const { seconds } = this.#meter
    const { rateScale } = this.#run.settings
    const state = { identity, rateScale, round, iteration, seconds, population: population.schedule, measurements: this.#measurements }
    const score = measured && (measured.testAccuracy ?? -measured.testLoss)
    await checkpoints.take(state, { evaluators, ...(score !== undefined && { score }) })
  }

  /** Tells a measurement to all who want to know. Returns why the run shall end; undefined to go on. */
  async #judge(measured: EvaluatedEvent, rules: StoppingRules, best: BestModel): Promise<FinishedEvent['reason'] | undefined> {
    const { keep, onEvaluated } = this.#run.settings.watch
    this.#control.emit(measured)
    if (keep === 'best') await best.consider(measured, () => this.#crew.synchroniser.ask.central())
    const verdict = rules.verdict(measured, this.#meter.seconds)
    const asked = await onEvaluated?.(measured)
    return verdict ?? (asked === 'stop' ? 'stopped' : undefined)
  }

  /** The measurement of the model that is kept, which becomes the central model where a better one came before the last. */
  async #kept(last: EvaluatedEvent, { best }: BestModel): Promise<EvaluatedEvent> {
    if (!best || best.measured === last) return last
    await this.#crew.synchroniser.ask.restore(best.weights)
    // The evaluators take it over, with its own batch-norm statistics.
    await this.#measure()
    return best.measured
  }

  async #change(round: number): Promise<void> {
    const { population, trace } = this.#run
    const change = () => population.change(round)
    const due = population.isDue(round)
    if (due && (await (trace ? trace.during('change of the population', change) : change()))) await this.#follow()
  }

  /** Another population trains: what is to come is reckoned anew, and what has been stays. */
  async #follow(): Promise<void> {
    this.#schedule = this.#run.reschedule(this.#run.population.schedule)
    this.#meter.follow(this.#schedule)
    await this.#crew.synchroniser.ask.follow(this.#schedule)
  }

  /** Until this round, or an earlier one where the run is to be stopped or its population to change. Returns the round. */
  async #trainUntil(round: number): Promise<number> {
    const { synchroniser, supervisor } = this.#crew
    await synchroniser.ask.pauseAt(round)
    const stop = () => synchroniser.tell.pauseSoon()
    this.#control.stop.addEventListener('abort', stop, { once: true })
    if (this.#control.stop.aborted) stop()
    const ticks = setInterval(() => void this.#tellProgress().catch(() => {}), PROGRESS_EVERY)
    const watch = this.#watch()
    this.#meter.start()
    const limit = this.#stopAfter(this.#run.settings.until.seconds - this.#meter.seconds, stop)
    try {
      await supervisor.askWith({ deadline: Infinity }).train()
    } finally {
      this.#meter.pause()
      clearInterval(ticks)
      clearInterval(watch)
      clearTimeout(limit)
      this.#control.stop.removeEventListener('abort', stop)
    }
    const status = await this.#tellProgress()
    this.#checkLoss(status)
    return status.round
  }

  /** Lets the population's control look while the learners train, as often as it wants to; they rest soon where it wants a change. */
  #watch(): NodeJS.Timeout | undefined {
    const { population } = this.#run
    const { synchroniser } = this.#crew
    if (population.watchEvery === Infinity) return undefined
    let rests = false
    const look = async () => {
      const status = await synchroniser.ask.status()
      if (rests) return
      const { seconds } = this.#meter
      const left = { samples: this.#schedule.endPosition - status.position, seconds: this.#run.settings.until.seconds - seconds }
      rests = population.watch({ ...status, seconds, left })
      this.#tellPopulation(status)
      if (rests) synchroniser.tell.pauseSoon()
    }
    return setInterval(() => void look().catch(() => {}), population.watchEvery)
  }

  #stopAfter(seconds: number, stop: () => void): NodeJS.Timeout | undefined {
    // A timer may be early by less than a millisecond.
    const milliseconds = Math.max(0, Math.ceil(seconds * 1000) + 1)
    return milliseconds <= LONGEST_TIMER ? setTimeout(stop, milliseconds) : undefined
  }

  async #tellProgress(): Promise<GroupStatus> {
    const { synchroniser } = this.#crew
    const status = await synchroniser.ask.status()
    const event = this.#meter.event(status, await synchroniser.ask.losses(this.#meter.iteration), this.#crew.dataWaited())
    if (event) this.#control.emit(event)
    return status
  }

  #tellPopulation({ round, iterations: iteration }: GroupStatus): void {
    for (const news of this.#run.population.news())
      this.#control.emit({ event: 'population', round, iteration, iterations: this.#schedule.iterations, ...news })
  }

  #checkLoss({ notFiniteAt }: GroupStatus): void {
    if (notFiniteAt < 0) return
    const rate = peakOf(this.#run.settings.optimiser.rate)
    const message = `optimiser.rate: received ${rate}; the loss was not a finite number at iteration ${notFiniteAt}: use a lower rate`
    throw new ArbalestError('LOSS_NOT_FINITE', message, { data: { iteration: notFiniteAt, rate } })
  }

  async #measure(): Promise<EvaluatedEvent> {
    const { evaluators, synchroniser } = this.#crew
    const { trace } = this.#run
    const start = performance.now()
    const measure = () => Promise.all(evaluators.map((evaluator) => evaluator.askWith({ deadline: Infinity }).measure()))
    const findings = await (trace ? trace.during('evaluation', measure) : measure())
    const seconds = (performance.now() - start) / 1000
    const total = (what: keyof Findings) => findings.reduce((sum, each) => sum + each[what], 0)
    const { answers, writes } = this.#run
    const share = (what: 'correct' | 'amongTop') => total(what) / (total('samples') * answers)
    const testAccuracy = answers > 0 ? share('correct') : null
    const testLoss = total('loss') / total('samples')
    const { iterations: iteration, position } = await synchroniser.ask.status()
    const epoch = position / this.#run.samples
    const measured: EvaluatedEvent = {
      event: 'evaluated',
      iteration,
      epoch,
      testLoss,
      testAccuracy,
      ...(this.#run.settings.topK !== undefined && { testTopK: share('amongTop') }),
      ...(writes && { testPerplexity: Math.exp(testLoss) }),
      seconds
    }
    return measured
  }

  async #finishedEvent(
    { testLoss, testAccuracy, testPerplexity, iteration }: EvaluatedEvent,
    ended: FinishedEvent['reason'] | undefined
  ): Promise<FinishedEvent> {
    const { synchroniser } = this.#crew
    const { population } = this.#run
    const { iterations, position, round } = await synchroniser.ask.status()
    const { seconds } = this.#meter
    return {
      event: 'finished',
      reason: ended ?? (iterations < this.#schedule.iterations ? 'stopped' : 'completed'),
      keptIteration: iteration,
      testAccuracy,
      testLoss,
      ...(testPerplexity !== undefined && { testPerplexity }),
      imagesPerSecond: perSecond(position, seconds),
      learners: learnersAt(population.schedule, round),
      population: population.schedule.filter((change) => change.round < Math.max(1, round)),
      epochs: position / this.#run.samples,
      iterations,
      seconds,
      weightsSha256: sha256(await synchroniser.ask.central())
    }
  }
}

/** Of float32 values, little-endian. */
function sha256(weights: Float32Array | Float64Array): string {
  const bytes = new DataView(new ArrayBuffer(weights.length * 4))
  weights.forEach((weight, i) => bytes.setFloat32(4 * i, weight, true))
  return createHash('sha256').update(bytes).digest('hex')
}
