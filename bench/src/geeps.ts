import type { MeasuredStep, RepeatableStep, Restorations } from './internals.js'

/** A value that GeePS holds, or keeps in the second tier between its uses. */
interface Row {
  readonly id: number
  readonly bytes: number
  /** The numbers of the operators that write and read it. */
  readonly uses: readonly number[]
}

/**
 * What the rule of GeePS moves within `budget` bytes (Cui et al., "GeePS", EuroSys 2016, section 4.3): values are pinned for the whole step, first those at the
 * operator that uses most, while the pinned ones and twice the most that is in use of the others fit; then others that fit. What is not pinned is fetched before each use and
 * dropped after it. Undefined where twice the largest operator does not fit: GeePS refuses then.
 *
 * Pinned values are counted while they live, not for the whole step as in GeePS: its users lay activations out in shared buffers beforehand. Values that reshaped ones
 * share their memory with are always pinned.
 */
export function geepsRule(step: RepeatableStep, measured: MeasuredStep, budget: number): Restorations | undefined {
  const { movable, always } = rowsOf(step, measured)
  const slots = step.operators.length
  const held = new Float64Array(slots)
  for (const [slot, { operator }] of step.operators.entries()) held[slot] = operator.scratchBytes
  const pin = ({ bytes, uses }: Row): void => {
    for (let slot = uses[0]!; slot <= uses.at(-1)!; slot++) held[slot]! += bytes
  }
  for (const row of always) pin(row)
  const used = new Float64Array(slots)
  for (const row of movable) for (const slot of row.uses) used[slot]! += row.bytes

  const staged = new Set(movable)
  const fits = (row: Row): boolean => {
    const own = new Set(row.uses)
    const peak = used.reduce((most, bytes, slot) => Math.max(most, own.has(slot) ? bytes - row.bytes : bytes), 0)
    return held.every((bytes, slot) => (slot < row.uses[0]! || slot > row.uses.at(-1)! ? bytes : bytes + row.bytes) + 2 * peak <= budget)
  }
  const pinIfFits = (row: Row): boolean => {
    if (!fits(row)) return false
    staged.delete(row)
    for (const slot of row.uses) used[slot]! -= row.bytes
    pin(row)
    return true
  }
  if (Math.max(...held) + 2 * Math.max(...used) > budget) return undefined
  const largestFirst = movable.toSorted((a, b) => b.bytes - a.bytes)
  for (let pinned = true; pinned;) {
    const highest = used.indexOf(Math.max(...used))
    pinned = largestFirst.some((row) => staged.has(row) && row.uses.includes(highest) && pinIfFits(row))
  }
  for (const row of largestFirst) if (staged.has(row)) pinIfFits(row)
  return dropped(staged)
}

function rowsOf({ operators, sources }: RepeatableStep, { values, named }: MeasuredStep): { movable: Row[]; always: Row[] } {
  const uses = values.map((): number[] => [])
  const reshaped = new Set<number>()
  for (const [slot, { operator }] of operators.entries()) {
    const ids = [...operator.inputs, ...operator.outputs].filter((id) => id >= 0)
    for (const id of ids) if (uses[id]!.at(-1) !== slot) uses[id]!.push(slot)
    if (operator.kind === 'reshape') for (const id of ids) reshaped.add(id)
  }
  const pinned = new Set([...named, ...reshaped])
  const rows = values
    .filter(({ id, role }) => uses[id]!.length > 0 && (role === 'activation' || role === 'input'))
    .map(({ id, bytes }): Row => ({ id, bytes, uses: uses[id]! }))
  const [movable, always]: [Row[], Row[]] = [[], []]
  for (const row of rows) (sources[row.id]! >= 0 && !pinned.has(row.id) ? movable : always).push(row)
  return { movable, always }
}

function dropped(rows: ReadonlySet<Row>): Restorations {
  const drops = new Map<number, Set<number>>()
  const moved = new Set<number>()
  for (const { id, uses } of rows)
    for (const [i, use] of uses.entries()) {
      if (i + 1 === uses.length || uses[i + 1] === use + 1) continue
      moved.add(id)
      const there = drops.get(use)
      if (there) there.add(id)
      else drops.set(use, new Set([id]))
    }
  return { drops, moved }
}
