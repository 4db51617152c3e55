import { ArbalestError } from '../errors.js'
import { loadEngine, type Engine, type Handle, type ReplicaSpec } from '../engine/contract.js'
import { TraceRing } from '../observe/trace-ring.js'
import { DeferredReply } from '../runtime/actor.js'
import type { ActorContext } from '../runtime/context.js'
import { callsOver, type MessagePort, type SendingPort } from '../runtime/port.js'
import { Heartbeat } from '../learner/heartbeat.js'
import { LearnerLog } from '../learner/learner-log.js'
import { callMethod, makeLearner, type LearnerContext, type LearnerPlugin, type MessageOutcome } from '../learner/learner-plugin.js'
import { LearnerReplica, type ProgramRecipe, type ProgramTarget } from '../learner/learner-replica.js'
import { StepOrder } from '../learner/step-order.js'
import { StepInterrupted, StepRunner, type LearnerReport } from '../learner/step-runner.js'
import type { Teacher, TeacherSpec } from '../learner/teacher.js'
import { jobActors, type JobActors } from '../protocols/job-actors.js'
import type { RunCall } from '../protocols/run-ref.js'
import { checkSetup } from './setup-checks.js'

/** Its thread loads no compiler, no file formats and no operators: it starts in half the time without them. Plugins get them when they can need them. */
const BUILT_IN = new URL('../learner/built-in-learner.js', import.meta.url).href

/** The messages by which a supervisor conducts a learner. */
export interface LearnerControlProtocol {
  /** Trains until the group pauses, evicts or cancels it. Rejects with the plugin's error, and with INVALID_STATE while it trains. */
  train(): DeferredReply<LearnerReport>

  /** Its replica, which others may copy while the learner is paused. */
  replica(): Handle

  /** Sends the metrics that its plugin logs to this port, as `LogLine`s. */
  logTo(port: SendingPort): void

  /** Calls a public method of the plugin, while the learner is paused. Rejects with UNKNOWN_NAME. */
  message(method: string, args: readonly unknown[]): Promise<MessageOutcome>

  /**
   * Sends the plugin again the messages that it got before the checkpoint from which it resumes, then restores weights and optimiser from that checkpoint, which
   * already has the effects of the messages on them. What the plugin tells others meanwhile is dropped: they were told before the checkpoint.
   */
  repeat(messages: readonly RepeatedMessage[]): Promise<void>
}

/** A message that a learner had got before a checkpoint. */
export interface RepeatedMessage {
  readonly method: string
  readonly args: readonly unknown[]
}

/** The options of a learner. */
export interface LearnerOptions {
  /** Address of the module that exports `engine`. */
  readonly engine: string
  /** Address of the module that exports the plugin, and the user's options for it. */
  readonly module: string
  readonly options: unknown
  readonly replica: ReplicaSpec & { readonly group: Handle; readonly learner: number }
  /** The training step, and the samples that it loads. */
  readonly program: Handle
  readonly dataset: Handle
  readonly task: LearnerTask
  /** The file of a checkpoint with the learner's weights and its optimiser's states. */
  readonly resumes?: string
  /** The messages that the plugin got before that checkpoint: it gets them again, since the checkpoint has none of its own state. */
  readonly messages?: readonly RepeatedMessage[]
  /** The way to the other actors of the run; absent where the plugin cannot ask for it. */
  readonly actors?: MessagePort
  readonly rank: number
  /** Its number in the run; that in its group if omitted. */
  readonly number?: number
  /** The cores that its thread is pinned to; not pinned if omitted. */
  readonly cores?: readonly number[]
  /** The memory of its Heartbeat. */
  readonly heartbeat: SharedArrayBuffer
  /** The memory of its TraceRing, and how many steps the trace shows segment by segment. Absent without a trace. */
  readonly trace?: { readonly memory: SharedArrayBuffer; readonly detail: number }
}

/** What a learner knows of its job. */
export interface LearnerTask extends ProgramRecipe {
  readonly learners: number
  readonly samples: number
  readonly iterations: number
}

/**
 * Trains one replica with small batches, by the steps of its plugin. It needs a thread of its own, because it blocks the thread in native
 * code.
 */
export class Learner implements LearnerControlProtocol {
  readonly #options: LearnerOptions
  readonly #context: ActorContext<Learner>
  readonly #runner: StepRunner
  readonly #log = new LearnerLog()
  /** Frees what the learner holds in the engine. */
  readonly #releases: (() => void)[] = []
  #plugin: LearnerPlugin | undefined
  #stepping = false
  #repeating = false
  #engine!: Engine
  #replica: Handle | undefined

  constructor(options: LearnerOptions, context: ActorContext<Learner>) {
    checkSetup(options, 'engine', 'module', 'replica', 'program', 'dataset', 'task', 'rank', 'heartbeat')
    this.#options = options
    this.#context = context
    this.#runner = new StepRunner(new Heartbeat(options.heartbeat))
  }

  /** Called by the runtime. */
  async started(): Promise<void> {
    const engine = (this.#engine = await loadEngine(this.#options.engine))
    // Pins the thread before it makes its replica, because memory is placed near the core that touches it first.
    if (this.#options.cores) engine.keepToCores(this.#options.cores)
    this.#plugin = await makeLearner(this.#options.module, await this.#pluginContext(engine))
    await this.#plugin.started?.()
    if (this.#options.messages) await this.repeat(this.#options.messages)
  }

  train(): DeferredReply<LearnerReport> {
    if (this.#runner.isRunning)
      throw new ArbalestError('INVALID_STATE', `${this.#context.name}: it is training already; wait until it has paused`)
    const report = this.#runner.resume()
    if (!this.#stepping) void this.#stepForEver()
    return new DeferredReply(report)
  }

  replica(): Handle {
    return this.#replica!
  }

  logTo(port: SendingPort): void {
    this.#log.sendTo(port)
  }

  message(method: string, args: readonly unknown[]): Promise<MessageOutcome> {
    return this.#runner.handle(() => callMethod(this.#plugin!, method, args, this.#context.name))
  }

  async repeat(messages: readonly RepeatedMessage[]): Promise<void> {
    if (messages.length === 0) return
    this.#repeating = true
    try {
      for (const { method, args } of messages) await this.message(method, args)
    } finally {
      this.#repeating = false
    }
    await this.#restore(this.#engine)
  }

  /** A message to itself: the plugin has failed while the learner was paused, so no call of `train` can reject. */
  fail(error: unknown): never {
    throw error
  }

  /** Called by the runtime. */
  async stopping(): Promise<void> {
    this.#runner.close()
    try {
      await this.#plugin?.stopping?.()
    } finally {
      for (const release of this.#releases.toReversed()) release()
    }
  }

  async #stepForEver(): Promise<void> {
    this.#stepping = true
    try {
      while (!this.#runner.isInterrupted) {
        await this.#plugin!.step()
        await this.#runner.yieldToMailbox()
      }
    } catch (error) {
      if (!(error instanceof StepInterrupted) && !this.#runner.fail(error)) this.#context.self.tell.fail(error)
    } finally {
      this.#stepping = false
    }
  }

  async #pluginContext(engine: Engine): Promise<LearnerContext> {
    const { options, rank, number, replica: spec, task } = this.#options
    const { group, learner, seed } = spec
    const { model, learners, samples, iterations } = task
    return {
      options,
      rank,
      learner: number ?? learner,
      seed,
      model,
      replica: await this.#makeReplica(engine),
      learners,
      samples,
      iterations,
      actors: this.#actors(),
      iteration: () => engine.iterationOf(group, learner),
      log: (metrics) => this.#log.log(engine.iterationOf(group, learner), metrics),
      teacher: (teacher: TeacherSpec) => this.#makeTeacher(teacher, engine)
    }
  }

  async #makeReplica(engine: Engine): Promise<LearnerReplica> {
    const { replica: spec, program, dataset, task, trace } = this.#options
    const handle = engine.createReplica(spec)
    this.#replica = handle
    this.#releases.push(() => engine.release(handle))
    const slot = engine.bind(handle, program, dataset)
    await this.#restore(engine)
    const state = {
      engine,
      handle,
      runner: this.#runner,
      order: new StepOrder(),
      trace: trace && new TraceRing(trace),
      learningRate: undefined,
      stepping: undefined
    }
    return new LearnerReplica(state, slot, task, { spec, dataset, compile: await this.#compiler() })
  }

  /** With the operators of the model's composed layers, which it builds. */
  async #compiler(): Promise<ProgramTarget['compile']> {
    if (this.#options.module === BUILT_IN) return undefined
    const { loadOperators } = await import('../model/composed.js')
    await loadOperators(this.#options.task.model)
    return (await import('../compiler/compile.js')).compile
  }

  async #restore(engine: Engine): Promise<void> {
    const { resumes, replica } = this.#options
    if (resumes === undefined) return
    const { readVectors } = await import('../checkpoints/vectors.js')
    const { SafetensorsFile } = await import('../formats/safetensors.js')
    await using file = await SafetensorsFile.open(resumes)
    engine.restoreReplica(this.#replica!, await readVectors(file, replica.layout.parameters))
  }

  #actors(): JobActors {
    const { actors, task } = this.#options
    const call = actors
      ? callsOver(actors)
      : () => Promise.reject(new ArbalestError('INVALID_STATE', `${this.#context.name}: it has no way to other actors`))
    const send = (message: RunCall) => (this.#repeating && message.told ? Promise.resolve() : call(message))
    return jobActors(send, () => task.learners)
  }

  async #makeTeacher(spec: TeacherSpec, engine: Engine): Promise<Teacher> {
    const { backend, device, threads } = this.#options.replica
    const { Teacher } = await import('../learner/teacher.js')
    const teacher = await Teacher.create(spec, { engine, backend, device, threads })
    this.#releases.push(() => teacher.release())
    return teacher
  }
}
