import { atOnce, type Pieces } from '../turns.js'

/** Memory that is wanted from one operator to another, both inclusive. */
export interface Block {
  readonly bytes: number
  readonly from: number
  readonly until: number
  /** Of its offset and its size; `ALIGNMENT` if omitted, of which it is a multiple. */
  readonly unit?: number
}

interface Packed {
  readonly offsets: readonly number[]
  readonly bytes: number
}

/** Every offset is a multiple of this: a cache line, and the widest vector. */
export const ALIGNMENT = 64

/** Direct reads and writes of files are of whole units, in memory and in the file: values that are moved lie so. */
export const TRANSFER_UNIT = 4096

export function aligned(bytes: number, unit = ALIGNMENT): number {
  return Math.ceil(bytes / unit) * unit
}

/**
 * Offsets for blocks, so that no two that live at the same time overlap: the largest first, each into the smallest gap that
 * holds it (greedy by size: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
 */
export function pack(blocks: readonly Block[]): Packed {
  return atOnce(packInPieces(blocks))
}

/** The same, a block at a time. */
export function* packInPieces(blocks: readonly Block[]): Pieces<Packed> {
  const offsets = blocks.map(() => 0)
  const order = blocks.map((_, i) => i).sort((a, b) => blocks[b]!.bytes - blocks[a]!.bytes || blocks[a]!.from - blocks[b]!.from || a - b)
  const placed = new PlacedBlocks(blocks.length)
  let total = 0
  for (const i of order) {
    const block = blocks[i]!
    const size = aligned(block.bytes, block.unit)
    const offset = placed.smallestGap(block, size)
    placed.add(block, offset, offset + size)
    offsets[i] = offset
    total = Math.max(total, offset + size)
    yield
  }
  return { offsets, bytes: total }
}

/**
 * Blocks that have their offset, in its order. In typed arrays: the activations of a deep network all live at once, so that each block is compared with
 * each other one, and 8,000 layers are a hundred million comparisons.
 */
class PlacedBlocks {
  readonly #begin: Float64Array
  readonly #end: Float64Array
  readonly #from: Int32Array
  readonly #until: Int32Array
  #count = 0

  constructor(most: number) {
    this.#begin = new Float64Array(most)
    this.#end = new Float64Array(most)
    this.#from = new Int32Array(most)
    this.#until = new Int32Array(most)
  }

  /** Where the smallest gap of at least `size` begins between the blocks that live with this one; behind them all if there is none. */
  smallestGap({ from, until, unit }: Block, size: number): number {
    const [begins, ends, froms, untils] = [this.#begin, this.#end, this.#from, this.#until]
    let best = -1
    let smallest = Infinity
    let end = 0
    for (let i = 0; i < this.#count; i++) {
      if (froms[i]! > until || from > untils[i]!) continue
      const begin = aligned(end, unit)
      const gap = begins[i]! - begin
      if (gap >= size && gap < smallest) {
        best = begin
        smallest = gap
      }
      if (ends[i]! > end) end = ends[i]!
    }
    return best < 0 ? aligned(end, unit) : best
  }

  add({ from, until }: Block, begin: number, end: number): void {
    const at = this.#after(begin)
    for (const [array, value] of [
      [this.#begin, begin],
      [this.#end, end],
      [this.#from, from],
      [this.#until, until]
    ] as const) {
      array.copyWithin(at + 1, at, this.#count)
      array[at] = value
    }
    this.#count++
  }

  /** How many blocks begin at this offset or before it. */
  #after(begin: number): number {
    let [low, high] = [0, this.#count]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#begin[middle]! > begin) high = middle
      else low = middle + 1
    }
    return low
  }
}
