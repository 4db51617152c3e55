import { fileURLToPath } from 'node:url'
import { compile } from '../compiler/compile.js'
import { statisticsRead } from '../compiler/statistics-read.js'
import type { EngineBackend, Precision, Program } from '../compiler/program.js'
import type { Engine, Handle } from '../engine/contract.js'
import { loweringBackend } from '../engine/lowering.js'
import { checkMemory } from '../engine/free-memory.js'
import { invalidOption, unknownName } from '../errors.js'
import { importFile } from '../formats/import-weights.js'
import type { Model } from '../model/model.js'
import { loadOperators } from '../model/composed.js'
import { checkNumbers } from './bound-program.js'

/** A model that gives a learner its outputs and is not trained. */
export interface TeacherSpec {
  readonly model: Model
  /** All parameters one after another in PyTorch's order, or a safetensors file. */
  readonly weights: Float32Array | string | URL
  /** Running mean and variance of batch norms by name, such as `norm.runningMean`; a file has its own. */
  readonly statistics?: Readonly<Record<string, Float32Array>>
  /** Samples of one `predict`. */
  readonly batch: number
  readonly precision?: Exclude<Precision, 'f64'>
}

/** What a teacher runs on. */
export interface TeacherHost {
  readonly engine: Engine
  readonly backend: EngineBackend
  readonly device?: number | undefined
  readonly threads: number
}

/** A model with a replica of its own, which predicts in the caller's thread. */
export class Teacher {
  readonly #engine: Engine
  readonly #replica: Handle
  readonly #slot: number

  /** Throws INVALID_OPTION for weights of another model and for missing statistics, UNKNOWN_NAME, and the errors of reading the file and of compiling. */
  static async create(spec: TeacherSpec, place: TeacherHost): Promise<Teacher> {
    const { model, weights, statistics = {}, batch, precision = 'f32' } = checked(spec)
    const { engine, backend, device = 0, threads } = place
    await loadOperators(model)
    const program = compile(model, loweringBackend(engine, backend, threads), { mode: 'predict', batch, precision })
    const given =
      weights instanceof Float32Array
        ? { parameters: weights, statistics }
        : await importFile(weights instanceof URL ? fileURLToPath(weights) : weights, model)
    const { elements, bytes } = program.parameters
    const wanted = bytes + program.arenas.activations + program.arenas.statistics
    checkMemory(engine, wanted, { backend, device, what: `teacher ${model.name}` })
    if (given.parameters.length !== elements)
      throw invalidOption('weights', `${given.parameters.length} numbers`, `give the ${elements} parameters of model ${model.name}`)
    const missing = statisticsRead(program).find((value) => !Object.hasOwn(given.statistics, value.name))
    if (missing) throw invalidOption('statistics', Object.keys(given.statistics), `give ${missing.name}, too: the model has batch norms`)
    const replica = engine.createReplica({ backend, device, layout: program.parameters, threads, seed: 0 })
    try {
      const teacher = new Teacher(engine, replica, program)
      engine.writeVector(replica, 'weights', given.parameters)
      for (const [name, values] of Object.entries(given.statistics)) engine.writeValue(replica, teacher.#slot, name, values)
      return teacher
    } catch (error) {
      engine.release(replica)
      throw error
    }
  }

  private constructor(engine: Engine, replica: Handle, program: Program) {
    this.#engine = engine
    this.#replica = replica
    const handle = engine.createProgram(program)
    try {
      this.#slot = engine.bind(replica, handle)
    } finally {
      engine.release(handle)
    }
  }

  /** The outputs (batch, ...) for `input` (batch, ...sample): token ids, or numbers normalised as the training step's own `input` is. */
  predict(input: Float32Array | Int32Array): Float32Array {
    checkNumbers('input', input)
    this.#engine.writeValue(this.#replica, this.#slot, 'input', input)
    this.#engine.run(this.#replica, this.#slot, { steps: 1, milliseconds: 0 })
    return this.#engine.readValue(this.#replica, this.#slot, 'output') as Float32Array
  }

  /** Frees its memory; it cannot be used any more. */
  release(): void {
    this.#engine.release(this.#replica)
  }
}

const PRECISIONS = ['f32', 'bf16'] as const

/** Throws INVALID_OPTION, UNKNOWN_NAME: a learner in JavaScript has no types. */
function checked(spec: TeacherSpec): TeacherSpec {
  if (typeof spec !== 'object' || spec === null) throw invalidOption('teacher', spec, 'give an object with model, weights and batch')
  const { weights, statistics = {}, precision = 'f32' } = spec
  if (!(weights instanceof Float32Array || weights instanceof URL || typeof weights === 'string'))
    throw invalidOption('weights', weights, 'give a Float32Array of all parameters, or the path of a safetensors file')
  if (typeof statistics !== 'object' || statistics === null)
    throw invalidOption('statistics', statistics, 'give running mean and variance of the batch norms by name')
  for (const [name, values] of Object.entries(statistics)) checkNumbers(`statistics.${name}`, values)
  if (!PRECISIONS.includes(precision)) throw unknownName('precision', precision, PRECISIONS)
  return spec
}
