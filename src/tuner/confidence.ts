import type { Tally } from './tally.js'

/** The smallest standard deviation of windows that is assumed: a few windows that agree by chance prove nothing. */
const LEAST_STD = 0.005

/** Standard deviation of a single window, pooled over all tallies: populations differ in their means, but hardly in their noise. */
export function pooledStd(tallies: Iterable<Tally>): { readonly std: number; readonly freedom: number } {
  let sum = 0
  let freedom = 0
  for (const tally of tallies) {
    sum += tally.squares
    freedom += tally.windows - tally.visits
  }
  return { std: Math.max(LEAST_STD, freedom > 0 ? Math.sqrt(sum / freedom) : 0), freedom }
}

/** Half the width of the two-sided confidence interval of the difference of two tallies' means, by Student's t with a pooled variance. */
export function halfWidth(a: Tally, b: Tally, all: Iterable<Tally>): number {
  const { std, freedom } = pooledStd(all)
  return studentQuantile(freedom, TWO_SIDED) * std * Math.sqrt(1 / a.windows + 1 / b.windows)
}

/** The weight, in degrees of freedom, of the prior that visits differ as much as single windows: most populations are visited once. */
const PRIOR_FREEDOM = 3

/**
 * The one-sided 95% confidence bound of the difference of two tallies' means. It rests on the variance between visits, since windows of one visit are
 * too much alike. `least` is the smallest standard deviation of visits that the prior assumes.
 */
export function doubt(a: Tally, b: Tally, all: readonly Tally[], least = 0): number {
  let sum = PRIOR_FREEDOM * Math.max(least, pooledStd(all).std) ** 2
  let freedom = PRIOR_FREEDOM
  for (const tally of all) {
    sum += tally.squaresOfVisits
    freedom += tally.visits - 1
  }
  return studentQuantile(freedom, ONE_SIDED) * Math.sqrt((sum / freedom) * (1 / a.visits + 1 / b.visits))
}

/** Quantile of the normal distribution at 0.995. Each window is followed by a test at 99%; all tests of a run together err about once in twenty. */
const TWO_SIDED = 2.5758

/** Quantile of the normal distribution at 0.95. */
const ONE_SIDED = 1.6449

/**
 * The quantile of Student's t distribution that belongs to the quantile `normal` of the normal distribution: Cornish-Fisher expansion (Abramowitz and
 * Stegun, 26.7.5), exact to 1% from 3 degrees of freedom on. Below 3 it is the quantile at 0.995, whatever `normal` is.
 */
function studentQuantile(freedom: number, normal: number): number {
  if (freedom < 1) return Infinity
  if (freedom < 3) return freedom === 1 ? 63.657 : 9.925
  const z = normal
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160
  ]
  return terms.reduce((sum, term, i) => sum + term / freedom ** (i + 1), z)
}
