import { readVectors } from '../checkpoints/vectors.js'
import { compile, type CompileOptions } from '../compiler/compile.js'
import type { ParameterLayout, Program } from '../compiler/program.js'
import { ArbalestError } from '../errors.js'
import { loadEngine, type Engine, type Handle, type ReplicaSpec } from '../engine/contract.js'
import { loweringBackend } from '../engine/lowering.js'
import { checkRoom } from '../engine/free-memory.js'
import { SafetensorsFile } from '../formats/safetensors.js'
import { loadOperators } from '../model/composed.js'
import type { Model } from '../model/model.js'
import { DeferredReply } from '../runtime/actor.js'
import type { ActorContext } from '../runtime/context.js'
import { StepInterrupted, StepRunner, type LearnerReport } from './step-runner.js'
import { makeLearner, type LearnerContext, type LearnerPlugin } from './learner-plugin.js'
import { BoundProgram, LearnerReplica, type ProgramRequest, type ReplicaParts } from './learner-replica.js'
import { Heartbeat } from './heartbeat.js'
import { TraceRing } from '../observe/trace-ring.js'
import { Teacher, type TeacherSpec } from './teacher.js'

/** The messages that a learner answers. */
export interface LearnerProtocol {
  /** Trains until the group pauses, evicts or cancels it. Rejects with the plugin's error. */
  train(): DeferredReply<LearnerReport>

  /** Its replica, which others may copy while the learner is paused. */
  replica(): Handle
}

export interface LearnerOptions {
  /** Address of the module that exports `engine`. */
  readonly engine: string
  /** Address of the module that exports the learner, and what it is given. */
  readonly module: string
  readonly options: unknown
  readonly replica: ReplicaSpec & { readonly group: Handle; readonly learner: number }
  /** The training step, and the samples that it loads. */
  readonly program: Handle
  readonly dataset: Handle
  readonly task: LearnerTask
  /** The file of a checkpoint with its weights and its optimiser's states. */
  readonly resumes?: string
  readonly rank: number
  /** Of its device: its thread keeps to them. Left out, it runs where the system puts it. */
  readonly cores?: readonly number[]
  /** The memory of its Heartbeat. */
  readonly heartbeat: SharedArrayBuffer
  /** Of its TraceRing, where the job is traced, and how many steps are told in their segments. */
  readonly trace?: { readonly memory: SharedArrayBuffer; readonly detail: number }
}

/** What a learner may know of its job. */
export interface LearnerTask {
  readonly model: Model
  /** The training step as it was compiled, and how the job's other programs are. */
  readonly step: Program
  readonly recipe: Omit<CompileOptions, 'mode' | 'loss'> & { readonly parameters: ParameterLayout }
  readonly learners: number
  readonly samples: number
  readonly iterations: number
}

/** Drives one Replica with small batches, as its plugin says. It blocks its thread in native code, so it has one of its own. */
export class Learner implements LearnerProtocol {
  readonly #options: LearnerOptions
  readonly #context: ActorContext<Learner>
  readonly #runner: StepRunner
  readonly #held: (() => void)[] = []
  #plugin: LearnerPlugin | undefined
  #running = false
  #replicaHandle: Handle | undefined

  constructor(options: LearnerOptions, context: ActorContext<Learner>) {
    this.#options = options
    this.#context = context
    this.#runner = new StepRunner(new Heartbeat(options.heartbeat))
  }

  async started(): Promise<void> {
    const engine = await loadEngine(this.#options.engine)
    // Before it makes its replica: memory lies near whoever touches it first.
    if (this.#options.cores) engine.keepToCores(this.#options.cores)
    this.#plugin = await makeLearner(this.#options.module, await this.#pluginContext(engine))
    await this.#plugin.started?.()
  }

  /** Trains until the group pauses, evicts or cancels it. Rejects with what the plugin throws. */
  train(): DeferredReply<LearnerReport> {
    if (this.#runner.isRunning)
      throw new ArbalestError('INVALID_STATE', `${this.#context.name}: it is training already; wait until it has paused`)
    const report = this.#runner.resume()
    if (!this.#running) void this.#run()
    return new DeferredReply(report)
  }

  async #run(): Promise<void> {
    this.#running = true
    try {
      for (;;) {
        await this.#plugin!.step()
        await this.#runner.yieldToMailbox()
      }
    } catch (error) {
      if (!(error instanceof StepInterrupted) && !this.#runner.fail(error)) this.#context.self.tell.die(error)
    } finally {
      this.#running = false
    }
  }

  /** Its replica, which may be copied while it rests. */
  replica(): Handle {
    return this.#replicaHandle!
  }

  /** To itself, where the plugin has failed while nobody waits for it. */
  die(error: unknown): never {
    throw error
  }

  async #pluginContext(engine: Engine): Promise<LearnerContext> {
    const { options, rank, replica: spec, task } = this.#options
    const { group, learner, seed } = spec
    const { model } = task
    await loadOperators(model)
    return {
      options,
      rank,
      learner,
      seed,
      model,
      replica: await this.#replica(engine, model),
      learners: task.learners,
      samples: task.samples,
      iterations: task.iterations,
      iteration: () => engine.iterationOf(group, learner),
      teacher: (asked: TeacherSpec) => this.#teacher(asked, engine)
    }
  }

  async #replica(engine: Engine, model: Model): Promise<LearnerReplica> {
    const { replica: spec, program, dataset, task, trace, resumes } = this.#options
    const replica = engine.createReplica(spec)
    this.#replicaHandle = replica
    this.#held.push(() => engine.release(replica))
    const parts: ReplicaParts = {
      engine,
      replica,
      runner: this.#runner,
      stepping: undefined,
      learningRate: undefined,
      trace: trace && new TraceRing(trace)
    }
    let arena = task.step.arenas.activations
    const bind = ({ mode, batch, loss }: ProgramRequest): BoundProgram => {
      const backend = loweringBackend(engine, spec.backend, spec.threads)
      const { recipe } = task
      const compiled = compile(model, backend, {
        ...recipe,
        mode,
        batch: mode === 'train' ? recipe.batch : (batch ?? recipe.batch),
        ...(loss && { loss })
      })
      // Programs of one replica lie in one arena, as large as the largest of them wants.
      if (compiled.arenas.activations > arena) {
        const { device } = spec
        checkRoom(engine, compiled.arenas.activations, { backend: spec.backend, device, what: `program ${compiled.name}` })
      }
      arena = Math.max(arena, compiled.arenas.activations)
      const handle = engine.createProgram(compiled)
      const slot = engine.bind(replica, handle, dataset)
      engine.release(handle)
      return new BoundProgram(parts, slot, compiled)
    }
    const slot = engine.bind(replica, program, dataset)
    if (resumes !== undefined) {
      await using file = await SafetensorsFile.open(resumes)
      engine.restoreReplica(replica, await readVectors(file, spec.layout.parameters))
    }
    return new LearnerReplica(parts, slot, task.step, bind)
  }

  async #teacher(asked: TeacherSpec, engine: Engine): Promise<Teacher> {
    const { backend, device, threads } = this.#options.replica
    const teacher = await Teacher.create(asked, { engine, backend, device, threads })
    this.#held.push(() => teacher.release())
    return teacher
  }

  async stopping(): Promise<void> {
    this.#runner.close()
    await this.#plugin?.stopping?.()
    for (const release of this.#held.toReversed()) release()
  }
}
