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
/** The name of the value that is all memory. */
const MEMORY = 'memory'
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
    this.#values.addMemory()
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
    this.#write(this.#values.memory, this.#values.rubbish)
    for (const [name] of present(this.#case.inputs)) this.#writeNumbers(this.#values.at(name), values[name]!)
    engine.run(this.#replica, this.#slot, { steps: 1, milliseconds: 1000, position })
    const memory = this.#read(this.#values.memory) as Int32Array<ArrayBuffer>
    const outputs: Values = {}
    const faults: string[] = []
    for (const [name] of present(this.#case.outputs)) {
      outputs[name] = new Float64Array(this.#read(this.#values.at(name)))
      faults.push(...this.#faults(name, outputs[name], memory))
    }
    for (const { name, offset } of this.#values.guards)
      if (GUARD_WORDS.some((word, i) => memory[offset / 4 + i] !== word)) faults.push(`behind ${name}: something was written`)
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
  #faults(name: string, canonical: Float64Array, { buffer, byteOffset }: Int32Array<ArrayBuffer>): string[] {
    const { type, bytes, placement } = this.#values.at(name)
    if (type === 'u8' || type === 'i32') return []
    const Elements = { f64: Float64Array, f32: Float32Array, bf16: Uint16Array }[type]
    const lanes = new Elements(buffer, byteOffset + placement.offset, bytes / Elements.BYTES_PER_ELEMENT)
    const found = countNonZero(lanes, type === 'bf16' ? NEGATIVE_ZERO_BF16 : 0)
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

function typeOf(port: Port, precision: Precision): ElementType {
  if (port.type === 'activation') return precision
  if (port.type === 'wide') return precision === 'f64' ? 'f64' : 'f32'
  return port.type === 'label' ? 'i32' : 'u8'
}

function layoutOf(port: Port, layout: string | null): string | null {
  if (port.type === 'wide') return port.shape.length > 1 && layout !== 'plain' ? null : 'plain'
  return port.shape.length === 4 ? layout : 'plain'
}

/** Places values one behind the other in `activations`, each with a guard behind it. All of this memory is a value besides, of words. */
class Builder {
  readonly placed: PlacedValue[] = []
  readonly guards: { readonly name: string; readonly offset: number }[] = []
  end = 0

  at(name: string): PlacedValue {
    return this.placed.find((value) => value.name === name)!
  }

  add(name: string, port: Port, answer: AnsweredTensor, over?: string): ValueId {
    const same = this.placed.find((value) => value.name === name)
    if (same) return same.id
    return this.#push(name, port.shape, answer, over === undefined ? this.#reserve(name, answer.bytes) : this.at(over).placement.offset)
  }

  scratch(bytes: number): { bytes: number; offset: number } {
    return { bytes, offset: bytes === 0 ? 0 : this.#reserve('scratch', bytes) }
  }

  /** After all others. */
  addMemory(): void {
    this.#push(MEMORY, [this.end / 4], { type: 'i32', layout: 'plain', bytes: this.end }, 0)
  }

  get memory(): PlacedValue {
    return this.at(MEMORY)
  }

  /** What the memory holds before an operator writes to it. */
  get rubbish(): Int32Array {
    const words = new Int32Array(this.end / 4).fill(RUBBISH)
    for (const { offset } of this.guards) words.set(GUARD_WORDS, offset / 4)
    return words
  }

  #reserve(name: string, bytes: number): number {
    const offset = this.end
    const guard = offset + Math.ceil(bytes / 64) * 64
    this.guards.push({ name, offset: guard })
    this.end = guard + GUARD
    return offset
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
