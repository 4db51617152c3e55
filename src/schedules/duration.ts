import { kind, type Schema } from '../schema/values.js'

/** A part of a run: a number counts epochs; a fraction is of the whole run, 0 to 1. */
export type Duration = number | { readonly epochs: number } | { readonly iterations: number } | { readonly fraction: number }

/** How far a run is: passes over the training set, steps of each learner, and the fraction of the whole run, 0 to 1. */
export interface Progress {
  readonly epoch: number
  readonly iteration: number
  readonly fraction: number
}

/** The longest duration of each unit. */
const LONGEST: Readonly<Record<string, number>> = { epochs: Number.MAX_VALUE, iterations: Number.MAX_VALUE, fraction: 1 }

export const duration: Schema<Duration> = kind(
  isDuration,
  'a number of epochs above 0, or { epochs }, { iterations } or { fraction } up to 1'
)

function isDuration(value: unknown): value is Duration {
  if (typeof value !== 'number' && (typeof value !== 'object' || value === null)) return false
  const parts = Object.entries(typeof value === 'number' ? { epochs: value } : value)
  const isLength = ([unit, length]: readonly [string, unknown]): boolean =>
    Object.hasOwn(LONGEST, unit) && typeof length === 'number' && length > 0 && length <= LONGEST[unit]!
  return parts.length === 1 && parts.every(isLength)
}

/** How often the duration has passed. */
export function elapsed(of: Duration, { epoch, iteration, fraction }: Progress): number {
  if (typeof of === 'number') return epoch / of
  if ('epochs' in of) return epoch / of.epochs
  return 'iterations' in of ? iteration / of.iterations : fraction / of.fraction
}

export function multiple(of: Duration, factor: number): Duration {
  if (typeof of === 'number') return of * factor
  if ('epochs' in of) return { epochs: of.epochs * factor }
  return 'iterations' in of ? { iterations: of.iterations * factor } : { fraction: of.fraction * factor }
}

/** Whether the durations have one unit and rise from each to the next. */
export function isRising(durations: readonly Duration[]): boolean {
  const parts = durations.map((each) => Object.entries(typeof each === 'number' ? { epochs: each } : each)[0]!)
  return parts.every(([unit, length], i) => i === 0 || (unit === parts[i - 1]![0] && length > parts[i - 1]![1]))
}
