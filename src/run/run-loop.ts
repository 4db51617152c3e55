import { join } from 'node:path'
import type { RunPlace } from '../schedules/interventions.js'
import { measuredHere, type PastEvaluation, startsOf } from '../checkpoints/run-state.js'
import type { CentralMeasurement } from '../protocols/protocols.js'
import type { MeasuredModel } from '../checkpoints/resume.js'
import { ArbalestError, codeOf, messageOf, warn } from '../errors.js'
import { writeModel } from '../formats/save.js'
import type { SavedModel } from '../formats/saved-model.js'
import type { EvaluatedEvent, FinishedEvent } from '../observe/events.js'
import type { Trace } from '../observe/trace.js'
import type { PopulationControl } from '../tuner/population-control.js'
import type { RunActors } from './start/run-actors.js'
import type { Checkpointing, EvaluatorsState, LoopState } from './checkpointing.js'
import { BestModel, replayed, StoppingRules } from './evaluation-rules.js'
import { leaderOf } from './hosts/meeting.js'
import type { JobControl } from './job.js'
import type { Growth } from './memory/budget.js'
import type { PreparedRun } from './prepare/prepare.js'
import { nothingLearnt } from './nothing-learnt.js'
import { finishedEvent } from './run-events.js'
import { changeRun, repeatMessages, type ChangeableRun } from './changes/change-run.js'
import type { Interventions } from './changes/interventions.js'
import { TrainingLoop } from './training-loop.js'
import { userAnswer } from './user-answer.js'

export interface RunLoopOptions {
  readonly run: PreparedRun
  readonly actors: RunActors
  readonly population: PopulationControl
  readonly checkpoints: Checkpointing | undefined
  readonly interventions: Interventions
  /** Measures the central model on the data set of this name. */
  readonly measureOn: (data: string) => Promise<Omit<CentralMeasurement, keyof RunPlace>>
  /** The central model, with its statistics. */
  readonly model: () => Promise<SavedModel>
  /** Throws OUT_OF_MEMORY if memory does not hold so many more learners. */
  readonly checkMemory: (growth: Growth) => void
  /** Goes on without a host of the run. */
  readonly loseHost: (rank: number) => Promise<void>
  /** The best model before the run was resumed. */
  readonly best: MeasuredModel | undefined
  readonly trace: Trace | undefined
  /** Bytes of the device with most. */
  readonly peakMemory: () => number
}

type EndReason = FinishedEvent['reason']

/**
 * Trains a run to its end. The learners rest now and then at a round's start: then the loop measures the central model, takes a checkpoint, or changes
 * the population.
 */
export class RunLoop {
  readonly #options: RunLoopOptions
  readonly #control: JobControl
  readonly #training: TrainingLoop
  readonly #stoppingRules: StoppingRules
  readonly #best: BestModel
  readonly #evaluations: PastEvaluation[]
  readonly #changeable: ChangeableRun
  /** The iteration whose central model these evaluators have measured last: the last evaluation may be of the process before. */
  #heldIteration: number | undefined
  #isEvaluating = false

  constructor(options: RunLoopOptions, control: JobControl) {
    const { run, best } = options
    this.#options = options
    this.#control = control
    this.#training = new TrainingLoop({ ...options, during: (work) => this.#making(work) }, control)
    this.#stoppingRules = new StoppingRules(run.settings.until)
    this.#best = new BestModel(best, run.settings.until.monitor)
    this.#evaluations = [...(run.resumption?.state.measurements ?? [])]
    this.#changeable = {
      ...options,
      training: this.#training,
      made: () => options.interventions.record.made,
      save: () => this.#saveNow(),
      measure: (data) => this.#measureNow(data)
    }
  }

  /** Throws HOST_LOST if a host is lost without which the others cannot go on; the error names the file of the central model, where there is one. */
  async run(): Promise<FinishedEvent> {
    try {
      return await this.#run()
    } catch (error) {
      if (error instanceof ArbalestError && error.code === 'HOST_LOST') throw await this.#withCentralModel(error)
      throw error
    }
  }

  /**
   * Rejects with the error that ended the feed: the learners would wait for samples for ever. While they rest for a measurement the run itself ends by it, once what they have
   * trained is saved: this promise then never settles.
   */
  endWithoutData(error: unknown): Promise<never> {
    return this.#isEvaluating ? new Promise(() => {}) : Promise.reject(error)
  }

  /** Saves the central model of the last whole round beside the checkpoints. Returns the error with its file. */
  async #withCentralModel(error: ArbalestError): Promise<ArbalestError> {
    const { run, actors, model } = this.#options
    const { checkpoint } = run.settings
    if (!checkpoint) return error
    try {
      const { round } = await actors.synchroniser.ask.status()
      const file = join(checkpoint.dir, `central-of-round-${round}.safetensors`)
      await writeModel(file, await model())
      const message = `${error.message}; the central model of round ${round} is in ${file}`
      return new ArbalestError('HOST_LOST', message, { cause: error, data: { round, file } })
    } catch (failure) {
      warn(`the central model was not saved: ${messageOf(failure)}`)
      return error
    }
  }

  async #run(): Promise<FinishedEvent> {
    const { stop } = this.#control
    const { run, population, checkpoints, interventions } = this.#options
    const { settings } = run
    const resumed = run.resumption?.state
    // Brings the rules to where they were at the checkpoint.
    let ended: EndReason | undefined = replayed(this.#stoppingRules, this.#evaluations)
    let measured: EvaluatedEvent | undefined
    // With `overfit`, measure once before training, for comparison.
    if (settings.overfit !== undefined) this.#control.emit(await this.#measure())
    let round = resumed?.round ?? 0
    if (resumed && round < this.#training.schedule.rounds) await repeatMessages(this.#changeable, round)
    // The run was stopped just before a measurement that an undisturbed run makes.
    if (resumed && !ended && this.#isMeasuredAt(round) && !measuredHere(resumed)) [measured, ended] = await this.#evaluate()
    while (round < this.#training.schedule.rounds && !ended) {
      await this.#intervene(round)
      const due = this.#training.schedule.measuredAfter(round)
      const saved = checkpoints?.restBefore(round, this.#training.schedule) ?? Infinity
      const rest = Math.min(due, saved, population.restBefore(round), interventions.record.restBefore(round))
      if (!stop.aborted) {
        const trained = await this.#training.trainUntil(rest, round)
        // What was measured is not the central model any more.
        if (trained > round) measured = undefined
        round = trained
      } else if (measured) break
      await this.#loseHosts()
      const { failure } = this.#training
      if (failure) await this.#failSaved(failure.error, () => this.#save('idle'))
      const endsEarly = stop.aborted || this.#training.seconds >= settings.until.seconds
      const measures = round >= due || endsEarly
      // A user who stops the run may kill it before the measurement has ended: save the training first, and wait for the disk rather than skip that.
      if (stop.aborted) await checkpoints?.settled()
      if (stop.aborted || (!measures && checkpoints?.isDue(round, this.#training.schedule))) await this.#save('idle')
      if (endsEarly) await this.#training.endBefore(round)
      if (measures) [measured, ended] = await this.#evaluate({ unplanned: round < due })
      if (!ended && round < this.#training.schedule.rounds) await this.#changePopulation(round)
      this.#training.emitDecisions(await this.#options.actors.synchroniser.ask.status())
    }
    interventions.close()
    // A run that was resumed at its end has measured nothing yet: the evaluators must hold the model.
    measured ??= await this.#measure()
    await checkpoints?.settled()
    const kept = await this.#keep(measured)
    return finishedEvent(this.#options.actors.synchroniser, {
      kept,
      ended,
      seconds: this.#training.seconds,
      planned: this.#training.schedule.iterations,
      population: population.schedule,
      interventions: interventions.record.made,
      samples: run.dataset.train.count,
      peakDeviceBytes: this.#options.peakMemory(),
      checkpoints: checkpoints?.completeness,
      hosts: run.hosts?.host.size,
      // Neither a few steps nor a few batches show what could be learnt.
      hint: stop.aborted || settings.dryRun || settings.overfit !== undefined ? undefined : nothingLearnt(kept, run.dataset, run.model)
    })
  }

  /** Whether an undisturbed run measures its central model at this round. */
  #isMeasuredAt(round: number): boolean {
    return round > 0 && this.#training.schedule.measuredAfter(round - 1) === round
  }

  /** Measures the central model, decides whether the run ends, and takes a checkpoint of it. */
  async #evaluate({ unplanned = false } = {}): Promise<[measured: EvaluatedEvent, ended: EndReason | undefined]> {
    const event = await this.#measureOrFailSaved()
    const evaluation: PastEvaluation = { event, seconds: this.#training.seconds, ...(unplanned && { unplanned }) }
    // Tables of every past evaluation would make checkpoints large.
    const past = this.#evaluations.pop()
    if (past) this.#evaluations.push({ ...past, event: withoutTables(past.event) })
    this.#evaluations.push(evaluation)
    const save = () => this.#save('measured')
    const ended = await this.#judge(evaluation).catch((error: unknown) => this.#failSaved(error, save))
    await save()
    return [event, ended]
  }

  /** If test samples cannot be read, or an evaluator dies, the run fails, but the training so far is saved. */
  async #measureOrFailSaved(): Promise<EvaluatedEvent> {
    const { run, actors } = this.#options
    this.#isEvaluating = true
    try {
      return await Promise.race([this.#measureAndSaveOnStop(), actors.feed.failed])
    } catch (error) {
      // A host that has failed, or a device, has no states to give any more.
      if (run.hosts || codeOf(error) === 'DEVICE_FAILED') throw error
      return await this.#failSaved(error, () => this.#save('measuring'))
    } finally {
      this.#isEvaluating = false
    }
  }

  /** If the user's own function fails, the run fails, but the training so far is saved. */
  async #failSaved(error: unknown, save: () => Promise<void>): Promise<never> {
    await save()
      .then(() => this.#options.checkpoints?.settled())
      .catch(() => {})
    throw error
  }

  async #measure(): Promise<EvaluatedEvent> {
    const { run, actors, trace } = this.#options
    const start = performance.now()
    const measure = () => actors.measure()
    const { testLoss, testAccuracy, testTopK, testMetrics } = await this.#withHostsLeft(() =>
      trace ? trace.during('evaluation', measure) : measure()
    )
    const seconds = (performance.now() - start) / 1000
    const { iterations: iteration, position } = await actors.synchroniser.ask.status()
    this.#heldIteration = iteration
    const { train } = run.dataset
    const isText = train.stride !== undefined
    return {
      event: 'evaluated',
      iteration,
      epoch: position / train.count,
      testLoss,
      testAccuracy,
      ...(testTopK !== undefined && { testTopK }),
      ...(testMetrics && { testMetrics }),
      ...(isText && { testPerplexity: Math.exp(testLoss) }),
      seconds
    }
  }

  /** Goes on without the hosts that are lost. The learners rest. */
  async #loseHosts(): Promise<void> {
    const { run, actors, population, interventions, loseHost } = this.#options
    const lost = leaderOf(run.hosts)?.takeLost() ?? []
    if (lost.length === 0) return
    for (const { rank } of lost) await loseHost(rank)
    const { round, iterations: iteration } = await actors.synchroniser.ask.status()
    const { learners } = await actors.learners.population()
    population.lose(round, learners)
    await this.#training.changeSchedule(run.scheduleFor(population.schedule, interventions.record.made))
    const { iterations } = this.#training.schedule
    const hosts = run.hosts!.host.size
    for (const { rank: host, error } of lost) {
      const reason = error.message.replace(`host ${host}: `, '')
      this.#control.emit({ event: 'hostLost', host, reason, round, iteration, iterations, hosts, learners })
    }
  }

  /** Does the work again, without the hosts that are lost meanwhile. */
  async #withHostsLeft<Result>(work: () => Promise<Result>): Promise<Result> {
    const leader = leaderOf(this.#options.run.hosts)
    for (;;) {
      await this.#loseHosts()
      try {
        return await work()
      } catch (error) {
        if (!leader?.hasLost) throw error
      }
    }
  }

  /** If the run is stopped during the measurement, takes a checkpoint at once: the learners rest, so nothing changes meanwhile. */
  async #measureAndSaveOnStop(): Promise<EvaluatedEvent> {
    const { stop } = this.#control
    const save = () => void this.#save('measuring').catch(() => {})
    stop.addEventListener('abort', save, { once: true })
    try {
      return await this.#measure()
    } finally {
      stop.removeEventListener('abort', save)
    }
  }

  async #save(evaluators: EvaluatorsState): Promise<void> {
    const { checkpoints } = this.#options
    if (!checkpoints) return
    const take = async () => checkpoints.take(await this.#state(), evaluators)
    // A measurement under way finds by itself that a host is lost.
    await (evaluators === 'measuring' ? take() : this.#withHostsLeft(take))
  }

  async #state(): Promise<LoopState> {
    const { run, actors, population, interventions } = this.#options
    const { round, iterations: iteration } = await actors.synchroniser.ask.status()
    const { learningRateScale, cuts, rule, until, asked } = run.settings
    return {
      identity: run.identity,
      learningRateScale,
      asked,
      cuts,
      ruleStarts: startsOf(rule),
      round,
      iteration,
      seconds: this.#training.seconds,
      population: population.schedule,
      measurements: this.#evaluations,
      ...(until.monitor && { monitor: until.monitor }),
      ...(interventions.record.made.length > 0 && { interventions: [...interventions.record.made] })
    }
  }

  /** Makes the changes that are due before this round, and those that programs ask for while the learners rest. */
  async #intervene(round: number): Promise<void> {
    const { interventions, actors } = this.#options
    if (!interventions.isDue(round)) return
    const { iterations: iteration } = await actors.synchroniser.ask.status()
    await interventions.make({ round, iteration }, (...change) => changeRun(this.#changeable, ...change))
  }

  /** Makes what is asked for while a function of the user's works. The learners rest. */
  #making<Result>(work: Promise<Result>): Promise<Result> {
    const { interventions, actors } = this.#options
    const placeOf = async () => {
      const { round, iterations: iteration } = await actors.synchroniser.ask.status()
      return { round, iteration }
    }
    return interventions.makeDuring(work, placeOf, (...change) => changeRun(this.#changeable, ...change))
  }

  /** A checkpoint that a program asked for. */
  async #saveNow(): Promise<{ readonly folder: Promise<string> } | undefined> {
    const { checkpoints } = this.#options
    if (!checkpoints) return undefined
    const state = await this.#state()
    return checkpoints.save(state, this.#heldIteration === state.iteration ? 'measured' : 'idle')
  }

  /** A measurement that a program asked for. */
  async #measureNow(data: string | undefined): Promise<Omit<CentralMeasurement, keyof RunPlace>> {
    const { actors, measureOn } = this.#options
    return data === undefined ? actors.measure() : measureOn(data)
  }

  /** Emits a measurement and applies everything that depends on it. Returns why the run ends; undefined to go on. */
  async #judge({ event, seconds, unplanned }: PastEvaluation): Promise<EndReason | undefined> {
    const { settings } = this.#options.run
    this.#control.emit(event)
    if (settings.keep === 'best') await this.#best.consider(event, () => this.#options.actors.synchroniser.ask.centralVector())
    const verdict = this.#stoppingRules.verdict(event, seconds, unplanned)
    const { onEvaluated, onEvaluatedDeadline: deadline } = settings
    const { stop } = this.#control
    const answer = onEvaluated && (await this.#making(userAnswer(async () => onEvaluated(event), { name: 'onEvaluated', stop, deadline })))
    return verdict ?? (answer === 'stop' ? 'stopped' : undefined)
  }

  /** Returns the measurement of the model that the run keeps. If that is not the last one, the central model becomes it. */
  async #keep(last: EvaluatedEvent): Promise<EvaluatedEvent> {
    const { best } = this.#best
    if (!best || best.measured === last) return last
    const { actors, run } = this.#options
    leaderOf(run.hosts)?.order({ order: 'replaceCentral', weights: best.weights })
    await actors.synchroniser.ask.replaceCentral(best.weights)
    // The evaluators' replicas take it, and estimate its batch-norm statistics.
    await this.#measure()
    return best.measured
  }

  async #changePopulation(round: number): Promise<void> {
    const { run, population, trace } = this.#options
    if (!population.isDue(round)) return
    const change = () => population.change(round)
    const changed = await (trace ? trace.during('change of the population', change) : change())
    if (changed) await this.#training.changeSchedule(run.scheduleFor(population.schedule, this.#options.interventions.record.made))
  }
}

function withoutTables(event: EvaluatedEvent): EvaluatedEvent {
  if (!event.testMetrics) return event
  const { confusion: _, perClass: __, ...testMetrics } = event.testMetrics
  return { ...event, testMetrics }
}
