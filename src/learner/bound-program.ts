import type { Program, SegmentName } from '../compiler/program.js'
import type { Engine, Handle, RunReport, SegmentLimits, ValueArray } from '../engine/contract.js'
import { ArbalestError, invalidOption, unknownName } from '../errors.js'
import { sharedClock, type SpanKind, type TraceRing } from '../observe/trace-ring.js'
import type { StepOrder } from './step-order.js'
import { CALL_MILLISECONDS, type StepRunner } from './step-runner.js'

/** What the programs of one replica share. */
export interface ReplicaState {
  readonly engine: Engine
  readonly handle: Handle
  readonly runner: StepRunner
  readonly order: StepOrder
  readonly trace?: TraceRing | undefined
  /** undefined for the job's own schedule. */
  learningRate: number | undefined
  /** The program whose training step has begun and not ended. Programs of one replica share memory, so there is one at most. */
  stepping: BoundProgram | undefined
}

/** The segments of a training step: those that run once for each of its batches, and those that run once. */
const BATCH_SEGMENTS = ['load', 'forward', 'backward'] as const satisfies readonly SegmentName[]
const STEP_SEGMENTS = ['exchange', 'update'] as const satisfies readonly SegmentName[]

/**
 * A program that is bound to a learner's replica. A training step is `load`, `forward`, `backward` for each of its batches, then `exchange`
 * and `update`. Each of them rejects with INVALID_STATE if an earlier one is missing.
 */
export class BoundProgram {
  readonly batch: number
  /** Batches of a training step, as `optimiser.accumulate` says. */
  readonly accumulate: number
  readonly #state: ReplicaState
  readonly #slot: number
  readonly #program: Program
  readonly #trains: boolean

  constructor(state: ReplicaState, slot: number, program: Program) {
    this.#state = state
    this.#slot = slot
    this.#program = program
    this.#trains = program.segments.update.length > 0
    this.batch = program.batch
    this.accumulate = Number(program.segments.update[0]?.attributes['accumulate'] ?? 1)
  }

  /** Begins a step, or a further batch of it. Loads the next samples of the job, or those with these numbers, one for each sample of the batch. */
  async load({ samples }: { samples?: ArrayLike<number> } = {}): Promise<void> {
    await this.#segment('load', samples === undefined ? {} : { samples: this.#chosen(samples) })
  }

  /** Computes every value up to `output` and `loss`. */
  forward(): Promise<void> {
    return this.#segment('forward')
  }

  /** Computes the gradients of the parameters; with a `custom` loss it starts from `output.gradient`. */
  backward(): Promise<void> {
    return this.#segment('backward')
  }

  /**
   * Meets the other learners of the group. In the last step of a round it waits until the previous round is averaged. Rejects with
   * INVALID_STATE unless the step has had all its batches.
   */
  exchange(): Promise<void> {
    return this.#segment('exchange')
  }

  /** Takes the optimiser's step and the correction towards the central model, and ends the training step. */
  update(): Promise<void> {
    return this.#segment('update')
  }

  /**
   * Runs whole steps in one native call: this many, or fewer if they take longer than about 50 ms. For a program that does not train,
   * `position` is the first sample; 0 if omitted.
   */
  async run(steps: number = Number.MAX_SAFE_INTEGER, { position = 0 }: { position?: number } = {}): Promise<RunReport> {
    if (!Number.isSafeInteger(steps) || steps < 1) throw invalidOption('steps', steps, 'use a whole number of at least 1')
    if (!Number.isSafeInteger(position) || position < 0) throw invalidOption('position', position, 'use a whole number of at least 0')
    this.#refuseInsideAnotherStep()
    const { engine, handle, learningRate, trace } = this.#state
    if (this.#trains && trace && trace.detail > 0) return this.#tracedStep(trace)
    const report = await this.#repeat('run', (done) =>
      engine.run(handle, this.#slot, {
        steps: steps - done,
        milliseconds: CALL_MILLISECONDS,
        position: position + done * this.batch,
        ...(learningRate !== undefined && { learningRate })
      })
    )
    if (this.#trains) this.#endStep()
    return report
  }

  /** A copy of a named value in canonical order. Throws UNKNOWN_NAME. */
  read(name: 'output' | 'output.gradient' | 'loss'): Float32Array
  /** The same of any other one, such as `input` or `target`, whose type depends on the model and its data. */
  read(name: string): ValueArray
  read(name: string): ValueArray {
    this.#checkName(name)
    return this.#state.engine.readValue(this.#state.handle, this.#slot, name)
  }

  /** Overwrites a named value. Throws UNKNOWN_NAME, INVALID_OPTION for what is no typed array, and SHAPE_MISMATCH for another number of elements. */
  write(name: string, data: ValueArray): void {
    this.#checkName(name)
    checkNumbers(name, data)
    this.#state.engine.writeValue(this.#state.handle, this.#slot, name, data)
  }

  /** The shape of a named value: `output` is (batch, ...). Throws UNKNOWN_NAME. */
  shape(name: string): readonly number[] {
    const id = this.#program.named[name]
    if (id === undefined) throw unknownName('value', name, Object.keys(this.#program.named))
    return this.#program.values[id]!.shape
  }

  #chosen(samples: ArrayLike<number>): number[] {
    const chosen = Array.from(samples ?? [])
    if (chosen.length !== this.batch)
      throw invalidOption('samples', `${chosen.length} numbers`, `give one for each of the batch of ${this.batch}`)
    const stranger = chosen.find((sample) => !Number.isSafeInteger(sample))
    if (stranger !== undefined) throw invalidOption('samples', stranger, 'give the numbers of training samples, from 0')
    return chosen
  }

  async #segment(segment: SegmentName, chosen: Pick<SegmentLimits, 'samples'> = {}): Promise<void> {
    this.#refuseInsideAnotherStep()
    const { engine, handle, order } = this.#state
    if (this.#trains) order.check(segment)
    await this.#repeat(segment, () => {
      const { learningRate } = this.#state
      const start = performance.now()
      const outcome = engine.runSegment(handle, this.#slot, segment, {
        milliseconds: CALL_MILLISECONDS,
        ...(learningRate !== undefined && { learningRate }),
        ...chosen
      })
      const seconds = (performance.now() - start) / 1000
      const ran = outcome === 'ran'
      const steps = ran && segment === 'update' ? 1 : 0
      return { outcome, steps, lossSum: 0, correctSum: 0, busySeconds: ran ? seconds : 0, waitSeconds: ran ? 0 : seconds, dataSeconds: 0 }
    })
    if (!this.#trains) return
    order.done(segment)
    this.#state.stepping = segment === 'update' ? undefined : this
  }

  /** Runs one step segment by segment, so that the trace shows a span for each. */
  async #tracedStep(trace: TraceRing): Promise<RunReport> {
    const start = sharedClock()
    let [loss, correct] = [0, 0]
    for (let batch = 0; batch < this.accumulate; batch++) {
      for (const segment of BATCH_SEGMENTS) await this.#segment(segment)
      loss += this.read('loss')[0] ?? 0
      // Not every training step counts correct answers.
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

  /** Repeats a native call until it has run, and records each call in the trace. */
  async #repeat(kind: SpanKind, call: (done: number) => RunReport): Promise<RunReport> {
    const { runner, trace } = this.#state
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
      this.#endStep()
      throw error
    }
  }

  #endStep(): void {
    this.#state.stepping = undefined
    this.#state.order.reset()
  }

  #checkName(name: string): void {
    if (typeof name !== 'string') throw unknownName('value', name, Object.keys(this.#program.named))
  }

  #refuseInsideAnotherStep(): void {
    const { stepping } = this.#state
    if (stepping === undefined || stepping === this) return
    const name = this.#program.name
    const message = `program ${name}: received a call inside a step of ${stepping.#program.name}; call update() first: both use the same memory`
    throw new ArbalestError('INVALID_STATE', message)
  }
}

/** Throws INVALID_OPTION for what the engine cannot take as numbers: a learner in JavaScript has no types. */
export function checkNumbers(name: string, data: ArrayBufferView): void {
  if (!ArrayBuffer.isView(data)) throw invalidOption(name, data, 'give a typed array, such as a Float32Array')
}
