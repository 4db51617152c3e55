import type { Value } from '../model/graph.js'
import type { ElementType, Precision } from './program.js'

/** Parameters, their gradients and statistics: never narrower than f32. */
export function parameterType(precision: Precision): ElementType {
  return precision === 'f64' ? 'f64' : 'f32'
}

/** The element type of a value in a program of this precision, before a backend wants it otherwise. */
export function typeOf({ role, type }: Value, precision: Precision): ElementType {
  if (type === 'integer') return 'i32'
  if (type === 'position') return 'u8'
  const wide = type === 'statistic' || role === 'parameter' || role === 'parameterGradient' || role === 'statistic'
  return wide ? parameterType(precision) : precision
}

export const BYTES: Readonly<Record<ElementType, number>> = { f32: 4, f64: 8, bf16: 2, i32: 4, u8: 1 }
