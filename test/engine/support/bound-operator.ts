import type {
  AnsweredTensor,
  EngineBackend,
  ElementType,
  LoweringAnswer,
  OfferedTensor,
  PlacedValue,
  Precision,
  Program
} from '../../../src/compiler/program.js'
import type { Handle } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'
import { NONE, type ValueId } from '../../../src/model/graph.js'
import { present, type OperatorCase, type Port, type Values } from './operator-case.js'

/** Bytes after every tensor that no operator may touch. */
const GUARD = 64
/** What memory holds before an operator writes to it: as a float it is not a number. */
const RUBBISH = 0x7fc1_7fc1
/** What a guard holds. Its words differ: an operator that computes with rubbish passes on one of its words, and would write to a guard what is there. */
const GUARD_WORDS = Int32Array.from({ length: GUARD / 4 }, (_, i) => RUBBISH + i)
/** By its number of words, for the same few are written again and again. */
const rubbish = new Map<number, Int32Array>()
/** The bits of bfloat16's negative zero: JavaScript has no such numbers, and reads their bits. */
const NEGATIVE_ZERO_BF16 = 0x8000

export interface BindOptions {
  /** The layout in which four-dimensional activations are offered; null leaves it to the backend. */
  readonly layout?: string | null
  /** The layouts in which single tensors are offered, by port. */
  readonly layouts?: Readonly<Record<string, string>>
  /** An output and the input whose memory it overwrites. */
  readonly inPlace?: readonly [string, string]
  readonly seed?: number
  readonly dataset?: Handle
  readonly threads?: number
  readonly device?: number
}

export interface Outcome {
  readonly outputs: Values
  /** What was written where nothing may be: lanes of padding that are not zero, memory behind a tensor. */
  readonly faults: readonly string[]
}

/** A Program of one operator, bound to a replica of its own: inputs in canonical order in, outputs in canonical order out. */
export class BoundOperator {
  readonly answer: LoweringAnswer
  readonly #case: OperatorCase
  readonly #values: Builder
  readonly #handles: readonly Handle[]
  readonly #replica: Handle
  readonly #slot: number

  constructor(backend: EngineBackend, precision: Precision, use: OperatorCase, options: BindOptions = {}) {
    this.#case = use
    const offered = (ports: OperatorCase['inputs'], layout: (port: Port) => string | null): (OfferedTensor | null)[] =>
      Object.entries(ports).map(
        ([name, port]) => port && { shape: port.shape, type: typeOf(port, precision), layout: options.layouts?.[name] ?? layout(port) }
      )
    const own = (port: Port): string | null => layoutOf(port, options.layout ?? null)
    const { threads = 1 } = options
    this.answer = engine.lower(backend, {
      kind: use.kind,
      attributes: use.attributes,
      inputs: offered(use.inputs, own),
      // An operator without inputs has nothing but its outputs to take the layout from.
      outputs: offered(use.outputs, present(use.inputs).length > 0 ? () => null : own),
      precision,
      threads
    })
    this.#values = new Builder()
    const inputs = this.#place(use.inputs, this.answer.inputs)
    const outputs = this.#place(use.outputs, this.answer.outputs, options.inPlace)
    const scratch = this.#values.scratch(this.answer.scratchBytes)
    const batch = present({ ...use.inputs, ...use.outputs })[0]![1].shape[0]!
    const operator = { ...use, inputs, outputs, scratch, implementation: this.answer.implementation, flops: 0 }
    const program: Program = {
      name: use.kind,
      backend,
      precision,
      batch,
      values: this.#values.placed,
      segments: { load: [], forward: [operator], backward: [], exchange: [], update: [] },
      parameters: { parameters: [], bytes: 0, elements: 0 },
      arenas: { weights: 0, gradients: 0, statistics: 0, activations: this.#values.end, staged: 0 },
      named: Object.fromEntries(this.#values.placed.map((value) => [value.name, value.id]))
    }
    this.#replica = engine.createReplica({
      backend,
      device: options.device ?? 0,
      layout: program.parameters,
      threads,
      seed: options.seed ?? 1
    })
    const handle = engine.createProgram(program)
    this.#handles = [this.#replica, handle]
    this.#slot = engine.bind(this.#replica, handle, ...(options.dataset === undefined ? [] : [options.dataset]))
  }

  run(values: Values, position = 0): Outcome {
    for (const value of this.#values.raw) this.#write(value, rubbishWithGuard(value.shape[0]!))
    for (const [name] of present(this.#case.inputs)) this.#writeNumbers(this.#values.at(name), values[name]!)
    engine.run(this.#replica, this.#slot, { steps: 1, milliseconds: 1000, position })
    const outputs: Values = {}
    const faults: string[] = []
    for (const [name] of present(this.#case.outputs)) {
      outputs[name] = new Float64Array(this.#read(this.#values.at(name)))
      faults.push(...this.#faults(name, outputs[name]))
    }
    for (const guard of this.#values.guards)
      if (this.#read(guard).some((word, i) => word !== GUARD_WORDS[i])) faults.push(`${guard.name}: something was written`)
    return { outputs, faults }
  }

  release(): void {
    for (const handle of this.#handles) engine.release(handle)
  }

  #place(ports: OperatorCase['inputs'], answers: readonly (AnsweredTensor | null)[], inPlace?: readonly [string, string]): ValueId[] {
    return Object.entries(ports).map(([name, port], i) => {
      if (!port) return NONE
      return this.#values.add(name, port, answers[i]!, inPlace?.[0] === name ? inPlace[1] : undefined)
    })
  }

  /** Lanes of padding hold zero: as many elements differ from zero in memory as in the canonical tensor. */
  #faults(name: string, canonical: Float64Array): string[] {
    const { type, bytes } = this.#values.at(name)
    if (type === 'u8' || type === 'i32') return []
    const { buffer, byteOffset } = this.#read(this.#values.at(rawName(name)))
    const Elements = { f64: Float64Array, f32: Float32Array, bf16: Uint16Array }[type]
    const memory = new Elements(buffer as ArrayBuffer, byteOffset, bytes / Elements.BYTES_PER_ELEMENT)
    const found = countNonZero(memory, type === 'bf16' ? NEGATIVE_ZERO_BF16 : 0)
    const expected = countNonZero(canonical, 0)
    return found === expected ? [] : [`${name}: ${found - expected} lanes of padding are not zero`]
  }

  #writeNumbers(value: PlacedValue, numbers: Float64Array): void {
    const Numbers = { f64: Float64Array, f32: Float32Array, bf16: Float32Array, i32: Int32Array, u8: Uint8Array }[value.type]
    this.#write(value, new Numbers(numbers))
  }

  #write(value: PlacedValue, numbers: Parameters<typeof engine.writeValue>[3]): void {
    engine.writeValue(this.#replica, this.#slot, value.name, numbers)
  }

  #read(value: PlacedValue): ReturnType<typeof engine.readValue> {
    return engine.readValue(this.#replica, this.#slot, value.name)
  }
}

/** In a loop: calling a function for each of the millions of elements would take most of the tests' time. */
function countNonZero(numbers: ArrayLike<number>, negativeZero: number): number {
  let count = 0
  for (let i = 0; i < numbers.length; i++) if (numbers[i] !== 0 && numbers[i] !== negativeZero) count++
  return count
}

function rubbishWithGuard(words: number): Int32Array {
  let memory = rubbish.get(words)
  if (memory === undefined) {
    memory = new Int32Array(words).fill(RUBBISH)
    memory.set(GUARD_WORDS, words - GUARD_WORDS.length)
    rubbish.set(words, memory)
  }
  return memory
}

const rawName = (name: string): string => `${name} as it lies`

function typeOf(port: Port, precision: Precision): ElementType {
  if (port.type === 'activation') return precision
  if (port.type === 'wide') return precision === 'f64' ? 'f64' : 'f32'
  return port.type === 'label' ? 'i32' : 'u8'
}

function layoutOf(port: Port, layout: string | null): string | null {
  if (port.type === 'wide') return port.shape.length > 1 && layout !== 'plain' ? null : 'plain'
  return port.shape.length === 4 ? layout : 'plain'
}

/** Places values one behind the other in `activations`, each with a second value over the same bytes and a guard behind them, which is a third one. */
class Builder {
  readonly placed: PlacedValue[] = []
  readonly raw: PlacedValue[] = []
  readonly guards: PlacedValue[] = []
  end = 0

  at(name: string): PlacedValue {
    return this.placed.find((value) => value.name === name)!
  }

  add(name: string, port: Port, answer: AnsweredTensor, over?: string): ValueId {
    const same = this.placed.find((value) => value.name === name)
    if (same) return same.id
    const offset = over === undefined ? this.#reserve(answer.bytes) : this.at(over).placement.offset
    const id = this.#push(name, port.shape, answer, offset)
    this.#pushRaw(name, answer.bytes, offset)
    return id
  }

  scratch(bytes: number): { bytes: number; offset: number } {
    if (bytes === 0) return { bytes, offset: 0 }
    const offset = this.#reserve(bytes)
    this.#pushRaw('scratch', bytes, offset)
    return { bytes, offset }
  }

  #reserve(bytes: number): number {
    const offset = this.end
    this.end += Math.ceil(bytes / 64) * 64 + GUARD
    return offset
  }

  #pushRaw(name: string, bytes: number, offset: number): void {
    const guarded = Math.ceil(bytes / 64) * 64
    this.raw.push(this.#pushWords(rawName(name), guarded + GUARD, offset))
    this.guards.push(this.#pushWords(`behind ${name}`, GUARD, offset + guarded))
  }

  #pushWords(name: string, bytes: number, offset: number): PlacedValue {
    return this.placed[this.#push(name, [bytes / 4], { type: 'i32', layout: 'plain', bytes }, offset)]!
  }

  #push(name: string, shape: readonly number[], { type, layout, bytes }: AnsweredTensor, offset: number): ValueId {
    const id = this.placed.length
    const placement = { tier: 'device', arena: 'activations', offset, from: 0, until: 0 } as const
    this.placed.push({ id, name, role: 'activation', shape, type, layout, bytes, placement })
    return id
  }
}

/** Runs an operator once. */
export function runOnce(backend: EngineBackend, precision: Precision, use: OperatorCase, values: Values, position = 0): Outcome {
  const bound = new BoundOperator(backend, precision, use)
  try {
    return bound.run(values, position)
  } finally {
    bound.release()
  }
}
