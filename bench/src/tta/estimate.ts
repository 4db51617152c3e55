import { mean, standardDeviation } from '../statistics.js'

/** An estimate from a few values. */
export interface Estimate {
  /** Their mean, or another average. */
  readonly mean: number
  /** Sample standard deviation; 0 for one value. */
  readonly deviation: number
  readonly n: number
  /** Half of the 95% interval around the mean, by Student's t; infinite for one value. */
  readonly error: number
}

/** Undefined without values. */
export function estimate(values: readonly number[], middle = mean): Estimate | undefined {
  const n = values.length
  if (n === 0) return undefined
  const deviation = n > 1 ? standardDeviation(values) : 0
  return { mean: middle(values), deviation, n, error: n > 1 ? (studentT95(n - 1) * deviation) / Math.sqrt(n) : Infinity }
}

/** The product of `a` and a factor that was estimated independently. The number of values is that of `a`. */
export function product(a: Estimate, factor: Estimate): Estimate {
  return {
    mean: a.mean * factor.mean,
    deviation: a.deviation * factor.mean,
    n: a.n,
    error: Math.hypot(a.error * factor.mean, a.mean * factor.error)
  }
}

/** Student's t for 95% on both sides, by degrees of freedom from 1 on; the last value serves for more degrees. */
const T95 = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]

function studentT95(degrees: number): number {
  return T95[degrees - 1] ?? T95.at(-1)!
}
