import type { CompileOptions } from '../compiler/compile.js'
import type { Program, SegmentName } from '../compiler/program.js'
import type { Engine, Handle, ReplicaVector, RunReport, SegmentLimits, ValueArray } from '../engine/contract.js'
import { ArbalestError, invalidOption, unknownName } from '../errors.js'
import { CALL_MILLISECONDS, type StepRunner } from './step-runner.js'
import { sharedClock, type SpanKind, type TraceRing } from '../observe/trace-ring.js'

/** Another computation over a learner's weights. */
export interface ProgramRequest {
  readonly mode: Exclude<CompileOptions['mode'], 'statistics'>
  /** The job's if left out; a training step always has that. */
  readonly batch?: number
  /** `custom`: a training step whose `output.gradient` and `loss` the learner writes between `forward` and `backward`. */
  readonly loss?: CompileOptions['loss']
}

/** What the programs of one replica share. */
export interface ReplicaParts {
  readonly engine: Engine
  readonly replica: Handle
  readonly runner: StepRunner
  /** The step that has begun and not yet ended: programs of one replica lie in the same memory. */
  stepping: BoundProgram | undefined
  learningRate: number | undefined
  readonly trace?: TraceRing | undefined
}

/** Of a step: once for each of its batches, and once for all of them. */
const BATCH_SEGMENTS = ['load', 'forward', 'backward'] as const satisfies readonly SegmentName[]
const STEP_SEGMENTS = ['exchange', 'update'] as const satisfies readonly SegmentName[]

/**
 * A program made ready on a learner's replica. A training step is `load`, `forward`, `backward` for each of its batches, then `exchange` and
 * `update`.
 */
export class BoundProgram {
  readonly batch: number
  /** Batches of a training step, as `optimiser.accumulate` says. */
  readonly accumulate: number
  readonly #parts: ReplicaParts
  readonly #slot: number
  readonly #program: Program
  readonly #trains: boolean

  constructor(parts: ReplicaParts, slot: number, program: Program) {
    this.#parts = parts
    this.#slot = slot
    this.#program = program
    this.#trains = program.segments.update.length > 0
    this.batch = program.batch
    this.accumulate = Number(program.segments.update[0]?.attributes['accumulate'] ?? 1)
  }

  /** Begins a step, or a further batch of it, with the samples whose turn it is, or with those that `samples` numbers, one for each of the batch. */
  load({ samples }: { samples?: ArrayLike<number> } = {}): Promise<void> {
    return this.#segment('load', samples === undefined ? {} : { samples: Array.from(samples) })
  }

  /** Computes every value up to `output` and `loss`. */
  forward(): Promise<void> {
    return this.#segment('forward')
  }

  /** Computes the parameters' gradients, from `output.gradient` where the loss is `custom`. */
  backward(): Promise<void> {
    return this.#segment('backward')
  }

  /**
   * Meets the group; in a round's last step this waits for the round before to be averaged. Rejects with INVALID_STATE where the step has not had
   * all its batches.
   */
  exchange(): Promise<void> {
    return this.#segment('exchange')
  }

  /** Takes the optimiser's step, and the correction towards the central model; the step is over. Rejects as `exchange` does. */
  update(): Promise<void> {
    return this.#segment('update')
  }

  /**
   * Whole steps in one native call: so many, or as many as fit into about 50 ms where that is less. `position` says where in the sequence of
   * samples a program that does not train begins: at the first if left out.
   */
  run(steps: number = Number.MAX_SAFE_INTEGER, { position = 0 }: { position?: number } = {}): Promise<RunReport> {
    if (!(steps >= 1)) throw invalidOption('steps', steps, 'use a whole number of at least 1')
    this.#mayRun()
    const { engine, replica, learningRate: rate, trace } = this.#parts
    if (this.#trains && trace && trace.detail > 0) return this.#tracedStep(trace)
    return this.#pass('run', (done) =>
      engine.run(replica, this.#slot, {
        steps: steps - done,
        milliseconds: CALL_MILLISECONDS,
        position: position + done * this.batch,
        ...(rate !== undefined && { learningRate: rate })
      })
    )
  }

  /** A named value, such as `output`, `loss` or `target`, in canonical order: a copy. Throws UNKNOWN_NAME. */
  read(name: string): ValueArray {
    return this.#parts.engine.readValue(this.#parts.replica, this.#slot, name)
  }

  /** Throws UNKNOWN_NAME, and SHAPE_MISMATCH for another number of elements. */
  write(name: string, data: ValueArray): void {
    this.#parts.engine.writeValue(this.#parts.replica, this.#slot, name, data)
  }

  /** The shape of a named value: `output` is (batch, ...). Throws UNKNOWN_NAME. */
  shape(name: string): readonly number[] {
    const id = this.#program.named[name]
    if (id === undefined) throw unknownName('value', name, Object.keys(this.#program.named))
    return this.#program.values[id]!.shape
  }

  async #segment(segment: SegmentName, chosen: Pick<SegmentLimits, 'samples'> = {}): Promise<void> {
    this.#mayRun()
    const { engine, replica } = this.#parts
    await this.#pass(segment, () => {
      const { learningRate: rate } = this.#parts
      const start = performance.now()
      const outcome = engine.runSegment(replica, this.#slot, segment, {
        milliseconds: CALL_MILLISECONDS,
        ...(rate !== undefined && { learningRate: rate }),
        ...chosen
      })
      const seconds = (performance.now() - start) / 1000
      const ran = outcome === 'ran'
      const steps = ran && segment === 'update' ? 1 : 0
      return { outcome, steps, lossSum: 0, correctSum: 0, busySeconds: ran ? seconds : 0, waitSeconds: ran ? 0 : seconds, dataSeconds: 0 }
    })
    if (this.#trains) this.#parts.stepping = segment === 'update' ? undefined : this
  }

  /** One step, each of its segments a span within the step's. */
  async #tracedStep(trace: TraceRing): Promise<RunReport> {
    const start = sharedClock()
    let [loss, correct] = [0, 0]
    for (let batch = 0; batch < this.accumulate; batch++) {
      for (const segment of BATCH_SEGMENTS) await this.#segment(segment)
      loss += this.read('loss')[0] ?? 0
      // A training step need not count them.
      if ('correct' in this.#program.named) correct += this.read('correct')[0] ?? 0
    }
    for (const segment of STEP_SEGMENTS) await this.#segment(segment)
    trace.detail--
    const end = sharedClock()
    trace.write({ kind: 'step', start, end, steps: 1, waitSeconds: 0, dataSeconds: 0 })
    return {
      outcome: 'ran',
      steps: 1,
      lossSum: loss / this.accumulate,
      correctSum: correct,
      busySeconds: (end - start) / 1000,
      waitSeconds: 0,
      dataSeconds: 0
    }
  }

  async #pass(kind: SpanKind, call: (done: number) => RunReport): Promise<RunReport> {
    const { runner, trace } = this.#parts
    if (!this.#trains) return runner.runWithoutGroup(call)
    const traced = (done: number) => {
      const start = sharedClock()
      const report = call(done)
      const { steps, waitSeconds, dataSeconds } = report
      trace!.write({ kind, start, end: sharedClock(), steps, waitSeconds, dataSeconds })
      return report
    }
    try {
      return await runner.run(trace ? traced : call)
    } catch (error) {
      this.#parts.stepping = undefined
      throw error
    }
  }

  #mayRun(): void {
    const { stepping } = this.#parts
    if (stepping === undefined || stepping === this) return
    const message = `program ${this.#program.name}: received a call inside of a step of ${stepping.#program.name}; call update() first: both lie in the same memory`
    throw new ArbalestError('INVALID_STATE', message)
  }
}

/** A learner's copy of the weights, and the job's training step on it. */
export class LearnerReplica extends BoundProgram {
  readonly #parts: ReplicaParts
  readonly #bind: (request: ProgramRequest) => BoundProgram

  constructor(parts: ReplicaParts, slot: number, program: Program, bind: (request: ProgramRequest) => BoundProgram) {
    super(parts, slot, program)
    this.#parts = parts
    this.#bind = bind
  }

  /** The learning rate of the steps to come; undefined, as at first, for the job's own schedule. */
  get learningRate(): number | undefined {
    return this.#parts.learningRate
  }

  set learningRate(rate: number | undefined) {
    if (rate !== undefined && !(rate >= 0 && rate < Infinity))
      throw invalidOption('learningRate', rate, 'use a number of at least 0, or undefined')
    this.#parts.learningRate = rate
  }

  /** All parameters, their gradients, or the optimiser's velocity, in PyTorch's order one after another: a copy. */
  vector(which: ReplicaVector): Float32Array | Float64Array {
    return this.#parts.engine.readVector(this.#parts.replica, which)
  }

  /**
   * Overwrites one of the replica's vectors, which `vector` reads: all parameters in canonical order. Between `load` and `update`: rules that
   * average weights or gradients where they lie may read them until the next `load`. Throws SHAPE_MISMATCH for another length.
   */
  setVector(which: ReplicaVector, values: Float32Array | Float64Array): void {
    this.#parts.engine.writeVector(this.#parts.replica, which, values)
  }

  /** Compiles and binds another program over the same weights; only between two steps. */
  program(request: ProgramRequest): BoundProgram {
    if (this.#parts.stepping) throw new ArbalestError('INVALID_STATE', 'program: received a call inside of a step; call update() first')
    return this.#bind(request)
  }
}
