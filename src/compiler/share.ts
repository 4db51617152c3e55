import { NONE, type ValueId } from '../model/graph.js'
import type { LoweredStepOperator } from './lower.js'

/** When values live and how large they are; in typed arrays by their ids, for steps of thousands of operators are tried out by the thousand. */
export interface Lives {
  /** The first and the last operator at which a value is live, both inclusive. */
  readonly from: Int32Array
  readonly until: Int32Array
  readonly bytes: Float64Array
  /** Whether it shares the arena of activations. */
  readonly shares: Uint8Array
  /** Whether it has a name: nothing may overwrite it. */
  readonly kept: Uint8Array
}

/** Values that lie in the same memory, one after another or as one. */
export interface Group {
  readonly members: readonly ValueId[]
  readonly bytes: number
  readonly from: number
  readonly until: number
  readonly kept: boolean
}

/** Finds values that can share their memory: a reshaped value is the same bytes, and some operators may overwrite what they read. */
export class MemorySharing {
  /** Of a group, by its first member. */
  readonly from: Int32Array
  readonly until: Int32Array
  readonly bytes: Float64Array
  readonly #kept: Uint8Array
  readonly #size: Int32Array
  /** The way to the first member of a value's group; NONE for a value that lies elsewhere. */
  readonly #towards: Int32Array

  constructor({ from, until, bytes, shares, kept }: Lives) {
    this.from = from.slice()
    this.until = until.slice()
    this.bytes = bytes.slice()
    this.#kept = kept.slice()
    this.#size = new Int32Array(from.length).fill(1)
    this.#towards = new Int32Array(from.length)
    for (let id = 0; id < from.length; id++) this.#towards[id] = shares[id] ? id : NONE
  }

  /** Operators must come in the order in which they run; this is number `at`. */
  visit(operator: LoweredStepOperator, at: number): void {
    const { inputs, outputs, inPlace } = operator
    if (operator.kind === 'reshape') {
      const [x, y] = [this.#first(inputs[0]), this.#first(outputs[0])]
      if (x >= 0 && y >= 0) this.#join(x, y)
      return
    }
    for (const [output, input] of inPlace) {
      const [x, y] = [this.#first(inputs[input]), this.#first(outputs[output])]
      if (x >= 0 && y >= 0 && this.#mayOverwrite(x, y, operator, at)) this.#join(x, y)
    }
  }

  /** Whether this value is the first of its group. */
  isFirst(id: ValueId): boolean {
    return this.#towards[id] === id
  }

  groups(): readonly Group[] {
    const members = new Map<ValueId, ValueId[]>()
    for (let id = 0; id < this.#towards.length; id++) {
      const first = this.#first(id)
      if (first === id) members.set(id, [id])
    }
    for (let id = 0; id < this.#towards.length; id++) {
      const first = this.#first(id)
      if (first >= 0 && first !== id) members.get(first)!.push(id)
    }
    return [...members].map(([first, all]) => ({
      members: all,
      bytes: this.bytes[first]!,
      from: this.from[first]!,
      until: this.until[first]!,
      kept: this.#kept[first] === 1
    }))
  }

  /** Nobody reads x later, by any of its names, and nothing else that this operator touches lies there. */
  #mayOverwrite(x: ValueId, y: ValueId, { inputs, outputs }: LoweredStepOperator, at: number): boolean {
    if (x === y || this.#size[y] !== 1 || this.#kept[x] || this.until[x] !== at || this.bytes[y]! > this.bytes[x]!) return false
    return this.#here(x, inputs) === 1 && this.#here(x, outputs) === 0
  }

  #here(x: ValueId, ids: readonly ValueId[]): number {
    let count = 0
    for (const id of ids) if (this.#first(id) === x) count++
    return count
  }

  #first(id: ValueId | undefined): ValueId {
    if (id === undefined || id < 0) return NONE
    let first = id
    for (let next = this.#towards[first]!; next !== first; next = this.#towards[first]!) {
      if (next < 0) return NONE
      this.#towards[id] = first = next
    }
    return first
  }

  #join(x: ValueId, y: ValueId): void {
    if (x === y) return
    this.#towards[y] = x
    this.#size[x]! += this.#size[y]!
    this.bytes[x] = Math.max(this.bytes[x]!, this.bytes[y]!)
    this.from[x] = Math.min(this.from[x]!, this.from[y]!)
    this.until[x] = Math.max(this.until[x]!, this.until[y]!)
    this.#kept[x]! |= this.#kept[y]!
  }
}
