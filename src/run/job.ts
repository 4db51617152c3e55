import { EventEmitter } from 'eventemitter3'
import { unknownName } from '../errors.js'
import { EventStream } from '../observe/event-stream.js'
import type {
  CheckpointEvent,
  EvaluatedEvent,
  FinishedEvent,
  JobEvent,
  LearnerLostEvent,
  PlannedEvent,
  LevelsEvent,
  PopulationEvent,
  ProgressEvent,
  ResumedEvent,
  SampleSkippedEvent,
  SetAsideEvent,
  StartedEvent,
  WentBackEvent
} from '../observe/events.js'
import type { TrainedModel } from '../trained/trained-model.js'

/** What a Job emits: every event by its name, and `failed` with the error where the run cannot be finished. */
export interface JobEvents {
  planned: [PlannedEvent]
  started: [StartedEvent]
  levels: [LevelsEvent]
  setAside: [SetAsideEvent]
  resumed: [ResumedEvent]
  checkpoint: [CheckpointEvent]
  wentBack: [WentBackEvent]
  progress: [ProgressEvent]
  learnerLost: [LearnerLostEvent]
  population: [PopulationEvent]
  sampleSkipped: [SampleSkippedEvent]
  evaluated: [EvaluatedEvent]
  finished: [FinishedEvent]
  failed: [Error]
}

/** A record, so that the compiler notices a missing name. */
const EVENT_NAMES: Readonly<Record<keyof JobEvents, true>> = {
  planned: true,
  started: true,
  levels: true,
  setAside: true,
  resumed: true,
  checkpoint: true,
  wentBack: true,
  progress: true,
  learnerLost: true,
  population: true,
  sampleSkipped: true,
  evaluated: true,
  finished: true,
  failed: true
}

function checkEventName(name: string): void {
  if (!Object.hasOwn(EVENT_NAMES, name)) throw unknownName('event', name, Object.keys(EVENT_NAMES))
}

/** A copy of samples that are used later, when the caller may have changed or transferred them. */
function copied<Samples>(samples: Samples): Samples {
  return ArrayBuffer.isView(samples) && !(samples instanceof DataView) ? ((samples as unknown as Uint8Array).slice() as Samples) : samples
}

/** How a run talks to its Job. */
export interface JobControl {
  emit(event: Exclude<JobEvent, FinishedEvent>): void
  /** Aborted when the run shall end at its next round. */
  readonly stop: AbortSignal
}

export interface JobOutcome {
  readonly finished: FinishedEvent
  readonly model: TrainedModel
}

/** A trained model that is still to come: it answers as TrainedModel does, with promises. */
export type PromisedModel = {
  readonly [Name in 'predict' | 'classify' | 'generate' | 'evaluate' | 'weights' | 'statistics' | 'save']: (
    ...values: Parameters<TrainedModel[Name]>
  ) => Promise<Awaited<ReturnType<TrainedModel[Name]>>>
}

/**
 * One training run. `for await (const event of job)` reads its events, for any number of readers at once, each from where it began;
 * `finished` gives the last of them.
 */
export class Job implements AsyncIterable<JobEvent>, AsyncDisposable {
  /** Resolves when all is done and every thread of the run has ended; rejects with the ArbalestError that ended it, or with what a listener threw. */
  readonly finished: Promise<FinishedEvent>
  /** The trained model: answers once the job has finished, and rejects as `finished` does. */
  readonly model: PromisedModel
  readonly #stop = new AbortController()
  readonly #emitter = new EventEmitter()
  readonly #stream = new EventStream<JobEvent>()
  /** What a listener threw, the first of them. */
  #thrown: { readonly error: unknown } | undefined

  constructor(run: (control: JobControl) => Promise<JobOutcome>, { signal }: { signal?: AbortSignal | undefined } = {}) {
    const stop = () => this.stop()
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop, { once: true })
    const outcome = this.#run(run).finally(() => signal?.removeEventListener('abort', stop))
    this.finished = outcome.then(({ finished }) => finished)
    // Who reads the events meets the error there: it must not bring the process down for want of a second listener.
    this.finished.catch(() => {})
    this.model = {
      predict: async (batch) => {
        const samples = copied(batch)
        return (await outcome).model.predict(samples)
      },
      classify: async (batch, options) => {
        const samples = copied(batch)
        return (await outcome).model.classify(samples, options)
      },
      generate: async (prompt, options) => (await outcome).model.generate(prompt, options),
      evaluate: async (data) => (await outcome).model.evaluate(data),
      weights: async () => (await outcome).model.weights(),
      statistics: async () => (await outcome).model.statistics(),
      save: async (path, options) => (await outcome).model.save(path, options)
    }
  }

  /**
   * The run ends at its next round: the central model is measured, and `finished` resolves with the reason `stopped`. A run that waits for
   * `onEvaluated` does so for at most another second.
   */
  stop(): void {
    this.#stop.abort()
  }

  /**
   * Calls `listener` at every event of this name from now on. `failed` has the error that `finished` rejects with. A listener that throws ends the
   * run as `stop` does, and `finished` rejects with what it threw. Throws UNKNOWN_NAME for a name that is no event's.
   */
  on<Name extends keyof JobEvents>(name: Name, listener: (event: JobEvents[Name][0]) => void): this {
    checkEventName(name)
    this.#emitter.on(name, listener)
    return this
  }

  /** As `on`, for the next event of this name alone. */
  once<Name extends keyof JobEvents>(name: Name, listener: (event: JobEvents[Name][0]) => void): this {
    checkEventName(name)
    this.#emitter.once(name, listener)
    return this
  }

  /** Takes away a listener that `on` or `once` was given. */
  off<Name extends keyof JobEvents>(name: Name, listener: (event: JobEvents[Name][0]) => void): this {
    this.#emitter.off(name, listener)
    return this
  }

  /** Every event from now on; ends after `finished`, and throws the error that ended the run. */
  [Symbol.asyncIterator](): AsyncIterator<JobEvent, undefined> {
    return this.#stream[Symbol.asyncIterator]()
  }

  /** Stops the run and waits for its end, however it ends. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.stop()
    await this.finished.catch(() => {})
  }

  async #run(run: (control: JobControl) => Promise<JobOutcome>): Promise<JobOutcome> {
    // Whoever made the job gets to listen before it says anything.
    await Promise.resolve()
    try {
      const outcome = await run({ emit: (event) => this.#emit(event), stop: this.#stop.signal })
      if (!this.#thrown) this.#emit(outcome.finished)
      if (this.#thrown) throw this.#thrown.error
      this.#stream.end()
      return outcome
    } catch (error) {
      // What came first is the cause, whatever else went wrong on the way to the end.
      const failure = this.#thrown ? this.#thrown.error : error
      this.#stream.end({ error: failure })
      this.#call('failed', failure)
      throw failure
    }
  }

  #emit(event: JobEvent): void {
    this.#stream.push(event)
    this.#call(event.event, event)
  }

  /** Events come from timers, from actors and from the run itself: thrown there, an error would end the process, the job or nothing. */
  #call(name: keyof JobEvents, event: unknown): void {
    try {
      this.#emitter.emit(name, event)
    } catch (error) {
      this.#thrown ??= { error }
      this.stop()
    }
  }
}
