import type { Precision } from '../../../src/compiler/program.js'
import type { Attributes, OperatorKind } from '../../../src/model/graph.js'

/**
 * What an operator's tensor is: an activation, something that stays wide under bf16 (parameters, statistics, losses), class numbers, or
 * positions in a pooling window.
 */
export type PortType = 'activation' | 'wide' | 'label' | 'position'

export interface Port {
  readonly shape: readonly number[]
  readonly type: PortType
  /** A value from a number that is uniform in [0, 1); absent: uniform in [-1, 1). */
  readonly draw?: (uniform: number) => number
}

/** Canonical numbers by port. */
export type Values = Record<string, Float64Array>

/** One use of an operator: its ports in the table's order, null for NONE. An output named as an input is that input, written in place. */
export interface OperatorCase {
  readonly kind: OperatorKind
  readonly name: string
  readonly attributes: Attributes
  readonly inputs: Readonly<Record<string, Port | null>>
  readonly outputs: Readonly<Record<string, Port | null>>
}

export const activation = (...shape: number[]): Port => ({ shape, type: 'activation' })
export const wide = (...shape: number[]): Port => ({ shape, type: 'wide' })
export const positive = (...shape: number[]): Port => ({ shape, type: 'wide', draw: (u) => 0.5 + u })
export const label = (classes: number, batch: number): Port => ({ shape: [batch], type: 'label', draw: (u) => Math.floor(u * classes) })
/** Of a loss: from 0, which counts for nothing, to 1.5. */
export const classWeights = (classes: number): number[] => Array.from({ length: classes }, (_, k) => (k % 4) / 2)
export const position = (...shape: number[]): Port => ({ shape, type: 'position' })

export const elements = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1)

/** The ports that are there. */
export function present(ports: Readonly<Record<string, Port | null>>): [string, Port][] {
  return Object.entries(ports).filter((entry): entry is [string, Port] => entry[1] !== null)
}

/** Uniform numbers in [0, 1), the same in every run: the minimal standard generator of Park and Miller (1988). */
export function generator(seed: number): () => number {
  let state = seed
  return () => {
    const product = state * 48271
    // The remainder, exactly: `%` of numbers of this size takes ten times as long.
    state = product - Math.floor(product / 2147483647) * 2147483647
    return state / 2147483647
  }
}

const float = new Float32Array(1)
const bits = new Uint32Array(float.buffer)

/** A number as the precision stores it: the nearest, ties to even. */
export function rounded(value: number, precision: Precision): number {
  if (precision === 'f64') return value
  float[0] = value
  if (precision === 'bf16') bits[0] = (bits[0]! + 0x7fff + ((bits[0]! >>> 16) & 1)) & 0xffff0000
  return float[0]
}

/** Values for the ports, exact in the precision, so that every backend and every precision computes from the same numbers. */
export function drawn(ports: Readonly<Record<string, Port | null>>, precision: Precision, seed: number): Values {
  const next = generator(seed)
  const values: Values = {}
  for (const [name, port] of present(ports)) {
    const draw = port.draw ?? ((u: number): number => 2 * u - 1)
    const numbers = new Float64Array(elements(port.shape))
    for (let i = 0; i < numbers.length; i++) numbers[i] = rounded(draw(next()), precision)
    values[name] = numbers
  }
  return values
}
