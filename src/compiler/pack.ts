/** Memory that is wanted from one operator to another, both inclusive. */
export interface Block {
  readonly bytes: number
  readonly from: number
  readonly until: number
}

/** Every offset is a multiple of this: a cache line, and the widest vector. */
export const ALIGNMENT = 64

export function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
}

/**
 * Offsets for blocks, so that no two that live at the same time overlap: the largest first, each into the smallest gap that
 * holds it (greedy by size: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
 */
export function pack(blocks: readonly Block[]): { readonly offsets: readonly number[]; readonly bytes: number } {
  const offsets = blocks.map(() => 0)
  const order = blocks.map((_, i) => i).sort((a, b) => blocks[b]!.bytes - blocks[a]!.bytes || blocks[a]!.from - blocks[b]!.from || a - b)
  // Placed blocks by offset.
  const placed: number[] = []
  let total = 0
  for (const i of order) {
    const block = blocks[i]!
    const size = aligned(block.bytes)
    const offset = smallestGap(
      placed.filter((j) => meet(blocks[j]!, block)).map((j) => [offsets[j]!, offsets[j]! + aligned(blocks[j]!.bytes)]),
      size
    )
    offsets[i] = offset
    total = Math.max(total, offset + size)
    const place = placed.findIndex((j) => offsets[j]! > offset)
    placed.splice(place < 0 ? placed.length : place, 0, i)
  }
  return { offsets, bytes: total }
}

function meet(a: Block, b: Block): boolean {
  return a.from <= b.until && b.from <= a.until
}

/** Where the smallest gap between spans (sorted by their beginnings) begins that holds `size`; behind them all if there is none. */
function smallestGap(spans: readonly (readonly [number, number])[], size: number): number {
  let best = -1
  let smallest = Infinity
  let end = 0
  for (const [from, until] of spans) {
    const gap = from - end
    if (gap >= size && gap < smallest) {
      best = end
      smallest = gap
    }
    end = Math.max(end, until)
  }
  return best < 0 ? end : best
}
