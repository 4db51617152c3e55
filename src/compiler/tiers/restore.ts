import { NONE, type ValueId } from '../../model/graph.js'
import type { LoweredStepOperator } from '../lower.js'

/** An operator of a step in which values are restored. */
export interface ScheduledOperator {
  readonly operator: LoweredStepOperator
  /** The number of the original operator that this is, or that it repeats; NONE for a transfer. */
  readonly number: number
  /** The number of the original operator that this is, or before which it runs. */
  readonly slot: number
}

/** The operators of a step, of which some may run again. */
export interface RepeatableStep {
  /** In the order in which they run. */
  readonly operators: readonly ScheduledOperator[]
  /** Of each value the number of the operator that may compute it again; NONE for a value that is always kept or moved. */
  readonly writers: Int32Array
  /** Of each value the number of the operator that writes it, if it may be moved to the second tier; otherwise NONE. */
  readonly sources: Int32Array
}

/** The values that are not held once the operator of a number has run, by that number. An operator that reads one later has it restored. */
export type Drops = ReadonlyMap<number, ReadonlySet<ValueId>>

/** How values that are not held may be restored. */
export interface Ways {
  readonly recompute: boolean
  readonly move: boolean
}

/** What is not held, and how it is restored. */
export interface Restorations {
  readonly drops: Drops
  /** Those that are moved to the second tier and fetched from there. The others are computed again. */
  readonly moved: ReadonlySet<ValueId>
}

export interface RestoredStep {
  readonly operators: readonly ScheduledOperator[]
  /** The original of each value: the values of the step, then those that are restored. */
  readonly originals: readonly ValueId[]
  /** Values that transfers bring, in the order in which they are needed. */
  readonly fetched: readonly ValueId[]
}

export const NO_CHOICES: Restorations = { drops: new Map(), moved: new Set() }

export function repeatable(operators: readonly LoweredStepOperator[], writers: Int32Array, sources?: Int32Array): RepeatableStep {
  return {
    operators: operators.map((operator, number) => ({ operator, number, slot: number })),
    writers,
    sources: sources ?? new Int32Array(writers.length).fill(NONE)
  }
}

/**
 * The step without holding dropped values: before an operator reads one, a transfer brings it, or the operators that compute it from what is still held
 * run again, with new values as outputs. What has been restored is then held like any other value. The original operators stay as they are, in their
 * order.
 */
export function restore({ operators, writers }: RepeatableStep, { drops, moved }: Restorations): RestoredStep {
  const originals: ValueId[] = []
  for (let id = 0; id < writers.length; id++) originals.push(id)
  /** The value that holds an original now; NONE if nothing does. */
  const held = Int32Array.from(originals)
  const scheduled: ScheduledOperator[] = []
  const fetched: ValueId[] = []

  const again = (number: number, slot: number): void => {
    const { operator } = operators[number]!
    const inputs = operator.inputs.map((id) => holding(id, slot))
    const outputs = operator.outputs.map((id) => {
      if (id === NONE) return NONE
      const copy = originals.push(id) - 1
      if (held[id] === NONE) held[id] = copy
      return copy
    })
    scheduled.push({ operator: { ...operator, inputs, outputs }, number, slot })
  }
  const holding = (id: ValueId, slot: number): ValueId => {
    if (id === NONE) return NONE
    if (held[id] === NONE && moved.has(id)) {
      held[id] = originals.push(id) - 1
      fetched.push(held[id])
    }
    if (held[id] === NONE) again(writers[id]!, slot)
    return held[id]!
  }
  const isHeld = (id: ValueId): boolean => id === NONE || held[id] === id

  for (let slot = 0; slot < operators.length; slot++) {
    const original = operators[slot]!
    const { operator } = original
    if (operator.inputs.every(isHeld)) scheduled.push(original)
    else {
      const inputs = operator.inputs.map((id) => holding(id, slot))
      scheduled.push({ ...original, operator: { ...operator, inputs } })
    }
    for (const id of drops.get(slot) ?? []) held[id] = NONE
  }
  return { operators: scheduled, originals, fetched }
}
