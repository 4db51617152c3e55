/** The value below which a share `q` (0 to 1) of the sorted values lie, interpolated between neighbours. NaN if one of them is: it has no place in their order. */
export function quantile(values: readonly number[], q: number): number {
  if (values.some(Number.isNaN)) return NaN
  const sorted = [...values].sort((a, b) => a - b)
  const at = (sorted.length - 1) * q
  const low = sorted[Math.floor(at)]
  const high = sorted[Math.ceil(at)]
  if (low === undefined || high === undefined) return NaN
  // Between two infinite neighbours nothing is interpolated.
  if (low === high) return low
  return low + (high - low) * (at - Math.floor(at))
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The range of a sample, and that of its middle half. */
export interface Spread {
  readonly min: number
  readonly max: number
  readonly quartiles: readonly [number, number]
}

export function spread(values: readonly number[]): Spread {
  return { min: Math.min(...values), max: Math.max(...values), quartiles: [quantile(values, 0.25), quantile(values, 0.75)] }
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Of the population that the values are a sample of, by n - 1; NaN for fewer than two. */
export function standardDeviation(values: readonly number[]): number {
  const middle = mean(values)
  return values.length < 2 ? NaN : Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1))
}
