import { BestModel } from './best-model.js'
import { measureCentral } from './central-measurement.js'
import type { CourseState, EvaluatorsState } from './checkpointing.js'
import { CourseLegs } from './training-loop.js'
import type { CourseOptions } from './run-loop-options.js'
import type { Crew } from './run-actors.js'
import type { EvaluatedEvent, FinishedEvent } from '../observe/events.js'
import { finishedEvent } from './finished-event.js'
import type { JobControl } from './job.js'
import { startsOf } from '../checkpoints/rule-starts.js'
import { measuredHere, type Measurement } from '../checkpoints/run-state.js'
import { StoppingRules } from './stopping.js'
import { userVerdict } from './user-verdict.js'

/** A run's way from measurement to measurement. */
export class Course {
  readonly #crew: Crew
  readonly #run: CourseOptions
  readonly #control: JobControl
  readonly #legs: CourseLegs
  /** With the seconds of training behind each. */
  readonly #measurements: Measurement[]

  constructor(crew: Crew, options: CourseOptions, control: JobControl) {
    this.#crew = crew
    this.#run = options
    this.#control = control
    this.#legs = new CourseLegs(crew, options, control)
    this.#measurements = [...(options.resumes?.state.measurements ?? [])]
  }

  async finish(): Promise<FinishedEvent> {
    const { stop } = this.#control
    const { population, settings, checkpoints, resumes } = this.#run
    const rules = new StoppingRules(settings.until)
    const best = new BestModel(resumes?.best)
    let ended = this.#measurements.map(({ event, seconds, unplanned }) => rules.verdict(event, seconds, unplanned)).at(-1) as
      FinishedEvent['reason'] | undefined
    let measured: EvaluatedEvent | undefined
    // What is learnt by heart is seen beside what was known before.
    if (settings.trial.overfit !== undefined) this.#control.emit(await this.#measure())
    let round = resumes?.state.round ?? 0
    // The run was stopped before a measurement that an undisturbed one has made.
    if (resumes && !ended && this.#isMeasured(round) && !measuredHere(resumes.state)) [measured, ended] = await this.#pass(rules, best)
    while (round < this.#legs.schedule.rounds && !ended) {
      const due = this.#legs.schedule.measuredAfter(round)
      const rest = Math.min(due, population.restBefore(round), checkpoints?.restBefore(round, this.#legs.schedule) ?? Infinity)
      if (!stop.aborted) round = await this.#legs.trainUntil(rest)
      else if (measured) break
      const measures = round >= due || stop.aborted || this.#legs.seconds >= settings.until.seconds
      // Whoever stops a run may not have the patience for a measurement: what has been trained is safe before it.
      if (stop.aborted || (!measures && checkpoints?.isDue(round, this.#legs.schedule))) await this.#save({ evaluators: 'idle' })
      if (measures) [measured, ended] = await this.#pass(rules, best, round < due)
      if (!ended && round < this.#legs.schedule.rounds) await this.#change(round)
      this.#legs.tellPopulation(await this.#crew.synchroniser.ask.status())
    }
    // A run that had ended when it was resumed holds no measured model yet.
    measured ??= await this.#measure()
    await checkpoints?.settled()
    const kept = await this.#kept(measured, best)
    const { schedule, seconds } = this.#legs
    return finishedEvent(this.#crew, this.#run, schedule, { kept, ended, seconds })
  }

  /** Whether a run that gets to this round undisturbed measures its central model there. */
  #isMeasured(round: number): boolean {
    return round > 0 && this.#legs.schedule.measuredAfter(round - 1) === round
  }

  /** One measurement with all that comes of it. */
  async #pass(
    rules: StoppingRules,
    best: BestModel,
    unplanned = false
  ): Promise<[measured: EvaluatedEvent, ended: FinishedEvent['reason'] | undefined]> {
    const event = await this.#measureSafely()
    const measurement: Measurement = { event, seconds: this.#legs.seconds, ...(unplanned && { unplanned }) }
    this.#measurements.push(measurement)
    const save = () => this.#save({ measured: event, evaluators: 'measured' })
    const ended = await this.#judge(measurement, rules, best).catch(async (error: unknown) => {
      // What was trained is not lost with an `onEvaluated` that fails.
      await save()
        .then(() => this.#run.checkpoints?.settled())
        .catch(() => {})
      throw error
    })
    await save()
    return [event, ended]
  }

  #measure(): Promise<EvaluatedEvent> {
    return measureCentral(this.#crew, this.#run)
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
    const { seconds } = this.#legs
    const { learningRateScale, cuts, rule } = this.#run.settings
    const state: CourseState = {
      identity,
      learningRateScale,
      cuts,
      ruleStarts: startsOf(rule),
      round,
      iteration,
      seconds,
      population: population.schedule,
      measurements: this.#measurements
    }
    const score = measured && Number.isFinite(measured.testLoss) ? (measured.testAccuracy ?? -measured.testLoss) : undefined
    await checkpoints.take(state, { evaluators, ...(score !== undefined && { score }) })
  }

  /** Tells a measurement to all who want to know. Returns why the run shall end; undefined to go on. */
  async #judge(
    { event, seconds, unplanned }: Measurement,
    rules: StoppingRules,
    best: BestModel
  ): Promise<FinishedEvent['reason'] | undefined> {
    const { watch } = this.#run.settings
    this.#control.emit(event)
    if (watch.keep === 'best') await best.consider(event, () => this.#crew.synchroniser.ask.central())
    const verdict = rules.verdict(event, seconds, unplanned)
    const asked = await userVerdict(watch, event, this.#control.stop)
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
    if (due && (await (trace ? trace.during('change of the population', change) : change())))
      await this.#legs.follow(this.#run.reschedule(population.schedule))
  }
}
