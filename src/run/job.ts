import { setMaxListeners } from 'node:events'
import { types } from 'node:util'
import { jobActors, type JobActors } from '../protocols/job-actors.js'
import type { RunCall } from '../protocols/run-ref.js'
import type { WatchedJob } from '../dashboard/run-watch.js'
import { ArbalestError, invalidOption, thrownByCallback, unknownName } from '../errors.js'
import { EventStream } from '../observe/event-stream.js'
import type {
  CheckpointEvent,
  EvaluatedEvent,
  FinishedEvent,
  IntervenedEvent,
  JobEvent,
  HostLostEvent,
  LearnerLostEvent,
  PlannedEvent,
  ExchangeEvent,
  LevelsEvent,
  LoggedEvent,
  PopulationEvent,
  ProgressEvent,
  ResumedEvent,
  SampleSkippedEvent,
  SetAsideEvent,
  StartedEvent,
  WarningEvent,
  WentBackEvent
} from '../observe/events.js'
import type { LoggedMetrics } from '../observe/logged-metrics.js'
import type { TrainedModel } from '../trained/trained-model.js'
import { answeredPort, type MessagePort } from '../runtime/port.js'
import { MetricLog } from './report/metric-log.js'
import { FailureReading } from './failure-reading.js'
import { RunDirectory } from './run-directory.js'

/** The events of a Job by name, and `failed` with the error of a run that fails. */
export interface JobEvents {
  planned: [PlannedEvent]
  warning: [WarningEvent]
  started: [StartedEvent]
  levels: [LevelsEvent]
  exchange: [ExchangeEvent]
  setAside: [SetAsideEvent]
  resumed: [ResumedEvent]
  checkpoint: [CheckpointEvent]
  wentBack: [WentBackEvent]
  progress: [ProgressEvent]
  logged: [LoggedEvent]
  learnerLost: [LearnerLostEvent]
  hostLost: [HostLostEvent]
  population: [PopulationEvent]
  intervened: [IntervenedEvent]
  sampleSkipped: [SampleSkippedEvent]
  evaluated: [EvaluatedEvent]
  finished: [FinishedEvent]
  failed: [Error]
}

/** A record, so that the compiler notices a missing name. */
const EVENT_NAMES: Readonly<Record<keyof JobEvents, true>> = {
  planned: true,
  warning: true,
  started: true,
  levels: true,
  exchange: true,
  setAside: true,
  resumed: true,
  checkpoint: true,
  wentBack: true,
  progress: true,
  logged: true,
  learnerLost: true,
  hostLost: true,
  population: true,
  intervened: true,
  sampleSkipped: true,
  evaluated: true,
  finished: true,
  failed: true
}

function checkEventName(name: string): void {
  if (!Object.hasOwn(EVENT_NAMES, name)) throw unknownName('event', name, Object.keys(EVENT_NAMES))
}

interface Listener {
  readonly name: keyof JobEvents
  readonly listener: (event: never) => unknown
  readonly isOnce: boolean
}

/** A copy of samples that are used later, when the caller may have changed or transferred them. */
function copied<Samples>(samples: Samples): Samples {
  if (Array.isArray(samples)) return structuredClone(samples)
  if (!ArrayBuffer.isView(samples) || samples instanceof DataView) return samples
  // Not by its own `slice`: that of a Buffer copies nothing.
  return Uint8Array.prototype.slice.call(samples) as unknown as Samples
}

/** A Job, as its run sees it. */
export interface JobControl {
  emit(event: Exclude<JobEvent, FinishedEvent>): void
  /** Aborted when the run is to end at its next round. */
  readonly stop: AbortSignal
  /** What the user logs. */
  readonly metrics: MetricLog
  /** Delivers messages to the actors of the run. */
  readonly directory: RunDirectory
}

/** Watches a job from before its first event to its end. Resolves once it does, with the address of a page if there is one. */
export type WatchJob = (job: WatchedJob) => Promise<{ readonly url: string | undefined }>

export interface JobOutcome {
  readonly finished: FinishedEvent
  /** Undefined if the run was stopped before there was one. */
  readonly model: TrainedModel | undefined
}

/** A model that is still being trained: the methods of TrainedModel, which answer once training has ended. */
export type PromisedModel = {
  readonly [Name in 'predict' | 'classify' | 'generate' | 'evaluate' | 'weights' | 'statistics' | 'save']: (
    ...values: Parameters<TrainedModel[Name]>
  ) => Promise<Awaited<ReturnType<TrainedModel[Name]>>>
}

/**
 * One training run. `for await (const event of job)` reads its events; each of any number of readers gets all events after its start. For one that is more than
 * 1,024 events behind, the oldest `progress` events are dropped, and others only where none of these waits. `finished` resolves with the last event.
 */
export class Job implements AsyncIterable<JobEvent>, AsyncDisposable {
  /** The trained model. Its methods answer once the job has finished, and reject if `finished` does. */
  readonly model: PromisedModel
  /**
   * The actors of the run: how they are, and changes of the run, each before the next round. Their refs exist at once; asks wait until the actors do, and
   * reject with ACTOR_GONE once the run has ended.
   *
   * ```ts
   * await job.actors.synchroniser.ask.set({ learningRate: { factor: 0.5 } })
   * ```
   */
  readonly actors: JobActors
  /** The address of the page that shows the run, with its secret; undefined without the option `dashboard`. Rejects with INVALID_OPTION if there is no such port. */
  readonly dashboard: Promise<string | undefined>
  readonly #directory: RunDirectory
  readonly #stop = new AbortController()
  readonly #metrics = new MetricLog()
  #listeners: readonly Listener[] = []
  readonly #stream = new EventStream<JobEvent>(({ event }) => event === 'progress')
  readonly #finished: Promise<FinishedEvent>
  readonly #reading = new FailureReading()
  /** The first error that a listener threw. */
  #thrown: { readonly error: unknown } | undefined
  #isOver = false

  /** `learners`: how many there will be at the start. */
  constructor(
    run: (control: JobControl) => Promise<JobOutcome>,
    { signal, learners = 1, watch }: { signal?: AbortSignal | undefined; learners?: number; watch?: WatchJob | undefined } = {}
  ) {
    this.#directory = new RunDirectory(learners, () => this.stop())
    this.actors = jobActors(
      (call) => this.#directory.call(call),
      () => this.#directory.learners
    )
    const watched = Promise.resolve(watch?.({ actors: this.actors, [Symbol.asyncIterator]: () => this.#stream[Symbol.asyncIterator]() }))
    this.dashboard = watched.then((opened) => opened?.url)
    this.dashboard.catch(() => {})
    const stop = () => this.stop()
    if (signal?.aborted) stop()
    // Any number of jobs may share it, and Node warns of more than ten listeners.
    if (signal) setMaxListeners(0, signal)
    signal?.addEventListener('abort', stop, { once: true })
    const outcome = this.#run(async (control) => {
      // Before any work: there may be no such port.
      await watched
      return run(control)
    }).finally(() => signal?.removeEventListener('abort', stop))
    this.#finished = outcome.then(({ finished }) => finished)
    // A program that reads the events gets the error there: `finished` need not be handled as well.
    this.#finished.catch(() => {})
    const trained = async (): Promise<TrainedModel> => {
      this.#reading.begin()
      const { model } = await outcome
      if (model) return model
      throw new ArbalestError('INVALID_STATE', 'model: the run was stopped while it was being prepared; train again')
    }
    this.model = {
      predict: async (batch) => {
        const samples = copied(batch)
        return (await trained()).predict(samples)
      },
      classify: async (batch, options) => {
        const samples = copied(batch)
        return (await trained()).classify(samples, options)
      },
      generate: async (prompt, options) => (await trained()).generate(prompt, options),
      evaluate: async (data, options) => (await trained()).evaluate(data, options),
      weights: async () => (await trained()).weights(),
      statistics: async () => (await trained()).statistics(),
      save: async (path, options) => (await trained()).save(path, options)
    }
  }

  /**
   * Resolves when every thread of the run has ended. Rejects with the ArbalestError that ended the run, or with the error that a listener threw. A program that reads
   * a failure nowhere, neither here nor from the events nor from `model`, ends with it once it has nothing else to do.
   */
  get finished(): Promise<FinishedEvent> {
    this.#reading.begin()
    return this.#finished
  }

  /** A port to the actors, for another thread, which talks to them by `actorsAt(port)` of `arbalest/actors`. */
  connect(): MessagePort {
    const { port, close } = answeredPort((call) => this.#directory.call(call as RunCall))
    this.#finished.then(close, close)
    return port
  }

  /**
   * Ends the run at its next round: the central model is measured, and `finished` resolves with the reason `stopped`. A run that waits for `onEvaluated` or `onStep`
   * waits for at most another second. A run that is still being prepared ends at once, with nothing trained or measured.
   */
  stop(): void {
    this.#stop.abort()
  }

  /**
   * Records metrics of your own, finite numbers by name, as an event `logged` of the present iteration: that of the call in `onStep`, `onEvaluated` and listeners
   * of `progress` and `evaluated`, else the last one that is done. Throws INVALID_OPTION, and INVALID_STATE once the run has ended.
   *
   * ```ts
   * job.log({ temperature: 61.5 })
   * ```
   */
  log(metrics: LoggedMetrics): void {
    this.#metrics.log(metrics)
  }

  /**
   * Calls `listener` for every event of this name from now on. `failed` has the error with which `finished` rejects. A listener that throws, or whose promise
   * rejects while the run goes on, ends the run as `stop` does, and `finished` rejects with its error. Throws UNKNOWN_NAME for a name that no event has, and INVALID_OPTION
   * for a listener that is no function.
   */
  on<Name extends keyof JobEvents>(name: Name, listener: (event: JobEvents[Name][0]) => unknown): this {
    return this.#listen({ name, listener, isOnce: false })
  }

  /** As `on`, but only for the next event of this name. */
  once<Name extends keyof JobEvents>(name: Name, listener: (event: JobEvents[Name][0]) => unknown): this {
    return this.#listen({ name, listener, isOnce: true })
  }

  /** Removes a listener that was given to `on` or `once`. */
  off<Name extends keyof JobEvents>(name: Name, listener: (event: JobEvents[Name][0]) => unknown): this {
    this.#listeners = this.#listeners.filter((each) => each.name !== name || each.listener !== listener)
    return this
  }

  /** All events from now on. Ends after `finished`; throws the error of a run that fails. */
  [Symbol.asyncIterator](): AsyncIterableIterator<JobEvent, undefined> {
    this.#reading.begin()
    return this.#stream[Symbol.asyncIterator]()
  }

  /** Stops the run and waits for its end, also if it fails. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.stop()
    await this.#finished.catch(() => {})
  }

  #listen(added: Listener): this {
    const { name, listener } = added
    checkEventName(name)
    if (typeof listener !== 'function') throw invalidOption('listener', listener, 'give a function')
    if (name === 'failed') this.#reading.begin()
    this.#listeners = [...this.#listeners, added]
    return this
  }

  async #run(run: (control: JobControl) => Promise<JobOutcome>): Promise<JobOutcome> {
    // Lets the caller of `train` add its listeners before the first event.
    await Promise.resolve()
    try {
      const control: JobControl = {
        emit: (event) => this.#emit(event),
        stop: this.#stop.signal,
        metrics: this.#metrics,
        directory: this.#directory
      }
      const outcome = await run(control).finally(() => this.#metrics.end())
      if (!this.#thrown) this.#emit(outcome.finished)
      if (this.#thrown) throw this.#thrown.error
      this.#isOver = true
      this.#directory.close()
      this.#stream.end()
      return outcome
    } catch (error) {
      // The first error is the cause; later ones may follow from it.
      const failure = this.#thrown ? this.#thrown.error : error
      this.#reading.failed(failure)
      this.#directory.close(failure)
      this.#stream.end({ error: failure })
      this.#call('failed', failure)
      this.#isOver = true
      throw failure
    }
  }

  #emit(event: JobEvent): void {
    this.#stream.push(event)
    this.#call(event.event, event)
  }

  #call(name: keyof JobEvents, event: unknown): void {
    // A listener that is added or removed by another one does not change who gets this event.
    for (const each of this.#listeners.filter((one) => one.name === name)) {
      if (each.isOnce) this.#listeners = this.#listeners.filter((other) => other !== each)
      this.#hand(event, each)
    }
  }

  /** Keeps the error of a listener from the code that emits, which is a timer, an actor or the run, and from the other listeners. */
  #hand(event: unknown, { listener }: Listener): void {
    try {
      const answer = listener(event as never)
      // A prompt has a Promise of its own.
      if (types.isPromise(answer)) answer.catch((error: unknown) => this.#listenerThrew(error))
    } catch (error) {
      this.#listenerThrew(error)
    }
  }

  /** Once the run is over nothing can fail by it any more: then it is an unhandled rejection. */
  #listenerThrew(error: unknown): void {
    if (this.#isOver) throw error
    this.#thrown ??= { error: thrownByCallback(error) }
    this.stop()
  }
}
