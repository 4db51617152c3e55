import type { compile, CompileOptions } from '../compiler/compile.js'
import type { ParameterLayout, Program } from '../compiler/program.js'
import type { Handle, ReplicaSpec, ReplicaVector } from '../engine/contract.js'
import { checkMemory } from '../engine/free-memory.js'
import { loweringBackend } from '../engine/lowering.js'
import { ArbalestError, invalidOption } from '../errors.js'
import type { Model } from '../model/model.js'
import { BoundProgram, checkNumbers, type ReplicaState } from './bound-program.js'

/** Another computation over a learner's weights. */
export interface ProgramRequest {
  readonly mode: Exclude<CompileOptions['mode'], 'statistics'>
  /** The job's if omitted. A training step always has the job's. */
  readonly batch?: number
  /** `custom`: a training step whose `output.gradient` and `loss` the learner writes between `forward` and `backward`. */
  readonly loss?: CompileOptions['loss']
}

/** What a job's programs are compiled from. */
export interface ProgramRecipe {
  readonly model: Model
  /** The training step, compiled. */
  readonly step: Program
  /** The options that all programs of the job have in common. */
  readonly recipe: Omit<CompileOptions, 'mode' | 'loss'> & { readonly parameters: ParameterLayout }
}

/** Where a learner's programs run, and the samples that they load. */
export interface ProgramTarget {
  readonly spec: ReplicaSpec
  readonly dataset: Handle
  /** The compiler; absent for the built-in learner, which binds no further programs and whose thread starts sooner without it. */
  readonly compile: typeof compile | undefined
}

/** A learner's copy of the weights, and the job's training step on it. */
export class LearnerReplica extends BoundProgram {
  readonly #state: ReplicaState
  readonly #recipe: ProgramRecipe
  readonly #target: ProgramTarget
  /** Bytes of the arena for activations, which all programs of the replica share: as large as the largest of them needs. */
  #arenaBytes: number

  constructor(state: ReplicaState, slot: number, recipe: ProgramRecipe, target: ProgramTarget) {
    super(state, slot, recipe.step)
    this.#state = state
    this.#recipe = recipe
    this.#target = target
    this.#arenaBytes = recipe.step.arenas.activations
  }

  /** The learning rate of the following steps; undefined, the initial value, for the job's own schedule. */
  get learningRate(): number | undefined {
    return this.#state.learningRate
  }

  set learningRate(rate: number | undefined) {
    if (rate !== undefined && !(typeof rate === 'number' && rate >= 0 && rate < Infinity))
      throw invalidOption('learningRate', rate, 'use a number of at least 0, or undefined')
    this.#state.learningRate = rate
  }

  /** A copy of all parameters, of their gradients, or of a state of the optimiser: one parameter after another, in PyTorch's order. */
  vector(which: ReplicaVector): Float32Array | Float64Array {
    return this.#state.engine.readVector(this.#state.handle, which)
  }

  /**
   * Overwrites one of the replica's vectors, in the order of `vector`. Call it between `load` and `update`: until the next `load` the group
   * may still read the weights or gradients that it averages. A step whose weights or gradients are set needs no `forward` and `backward`.
   * Throws INVALID_OPTION for what is no typed array, and SHAPE_MISMATCH for another length.
   */
  setVector(which: ReplicaVector, values: Float32Array | Float64Array): void {
    checkNumbers(which, values)
    this.#state.engine.writeVector(this.#state.handle, which, values)
    if (which === 'weights' || which === 'gradients') this.#state.order.vectorWasSet()
  }

  /** Compiles and binds another program over the same weights. Throws INVALID_STATE inside a step. */
  program(request: ProgramRequest): BoundProgram {
    if (typeof request !== 'object' || request === null)
      throw invalidOption('program', request, "give an object such as { mode: 'evaluate' }")
    const { mode, batch, loss } = request
    const { engine, handle: replica, stepping } = this.#state
    if (stepping) throw new ArbalestError('INVALID_STATE', 'program: received a call inside a step; call update() first')
    const { model, recipe } = this.#recipe
    const { spec, dataset, compile } = this.#target
    const program = compile!(model, loweringBackend(engine, spec.backend, spec.threads), {
      ...recipe,
      mode,
      batch: mode === 'train' ? recipe.batch : (batch ?? recipe.batch),
      ...(loss && { loss })
    })
    this.#growArena(program)
    const handle = engine.createProgram(program)
    try {
      return new BoundProgram(this.#state, engine.bind(replica, handle, dataset), program)
    } finally {
      engine.release(handle)
    }
  }

  #growArena({ name, arenas: { activations } }: Program): void {
    if (activations <= this.#arenaBytes) return
    const { backend, device } = this.#target.spec
    checkMemory(this.#state.engine, activations, { backend, device, what: `program ${name}` })
    this.#arenaBytes = activations
  }
}
