import type { Role, ValueId } from '../model/graph.js'
import type { LoweredStepOperator } from './lower.js'
import type { Lives } from './share.js'

/** A value whose bytes are known. */
export interface SizedValue {
  readonly id: ValueId
  readonly role: Role
  readonly bytes: number
  /** It lies in the second tier. */
  readonly staged?: boolean | undefined
}

/** Whether a value shares the arena of activations. */
export function isActivation({ role, staged = false }: Pick<SizedValue, 'role' | 'staged'>): boolean {
  return !staged && (role === 'input' || role === 'target' || role === 'activation')
}

/**
 * When each value lives: from its writer, or the start where the caller writes it, to its last reader, or the end where it has a name. Operators come in
 * the order in which they run.
 */
export function livesOf(values: readonly SizedValue[], operators: readonly LoweredStepOperator[], named: Iterable<ValueId>): Lives {
  const lives = {
    from: new Int32Array(values.length),
    until: new Int32Array(values.length),
    bytes: Float64Array.from(values, ({ bytes }) => bytes),
    shares: Uint8Array.from(values, (value) => (isActivation(value) ? 1 : 0)),
    kept: new Uint8Array(values.length)
  }
  for (const [at, { inputs, outputs }] of operators.entries()) touch(lives, at, inputs, outputs)
  for (const id of named) keep(lives, id, operators.length)
  return lives
}

/** An operator reads and writes values; operators come in the order in which they run. */
export function touch({ from, until }: Lives, at: number, inputs: readonly ValueId[], outputs: readonly ValueId[]): void {
  for (const id of outputs) if (id >= 0) from[id] = until[id] = at
  for (const id of inputs) if (id >= 0) until[id] = at
}

/** The value has a name: it stays readable after the last of so many operators. */
export function keep({ until, kept }: Lives, id: ValueId, operators: number): void {
  until[id] = Math.max(0, operators - 1)
  kept[id] = 1
}
