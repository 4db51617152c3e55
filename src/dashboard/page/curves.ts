/** Values of curves along x, as they are drawn and read. `undefined` is a place that only other curves have; `null` is one where this curve has no value. */

export type CurveValue = number | null | undefined

/** Points by rising x. Where a run went back, what it had discarded is left out. */
export function rising(x: readonly (number | null)[], y: readonly (number | null)[]): [number[], (number | null)[]] {
  const xs: number[] = []
  const ys: (number | null)[] = []
  for (const [i, at] of x.entries()) {
    if (at === null) continue
    while (xs.length > 0 && xs.at(-1)! >= at) {
      xs.pop()
      ys.pop()
    }
    xs.push(at)
    ys.push(y[i] ?? null)
  }
  return [xs, ys]
}

/** The value that holds at a place: that of the last point up to it. */
export function valueAt(values: ArrayLike<CurveValue>, index: number): number | null {
  let i = index
  while (i > 0 && values[i] === undefined) i--
  return values[i] ?? null
}

/** Places of values between two gaps: no line shows them. */
export function isolated(values: ArrayLike<CurveValue>): number[] {
  const found: number[] = []
  let [last, hasLine] = [-1, false]
  const end = () => void (last >= 0 && !hasLine && found.push(last))
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === undefined) continue
    if (value === null) {
      end()
      last = -1
    } else {
      hasLine = last >= 0
      last = i
    }
  }
  end()
  return found
}

/** What an x axis shows: from 0 on, unless all curves lie in the second half of that. */
export function spanOf(curves: readonly (readonly (number | null)[])[]): [from: number, until: number] {
  let [least, most] = [Infinity, -Infinity]
  for (const x of curves)
    for (const at of x)
      if (at !== null) {
        least = Math.min(least, at)
        most = Math.max(most, at)
      }
  if (most < least) return [0, 1]
  return [2 * least > most && most > least ? least : 0, most || 1]
}

/** What a y axis shows: all values with a margin, but not beyond what a value can be. */
export function padded(low: number, high: number, least: readonly number[] = [], limit = Infinity): [from: number, until: number] {
  const [from, until] = [Math.min(low, ...least), Math.max(high, ...least)]
  const margin = 0.06 * (until - from || Math.abs(until) || 1)
  const bottom = from >= 0 && from < margin ? 0 : from - margin
  // Slightly beyond the limit, so that a line along it is not cut in half.
  return [bottom, Math.min(until + margin, limit + 0.02 * (limit - bottom))]
}
