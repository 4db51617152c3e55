import type { Tally } from './tally.js'

/** No machine is steadier than this from window to window: a few windows that happen to agree prove nothing. */
const LEAST_DEVIATION = 0.005

/** Deviation of a single window, from all tallies together: they differ in their means and hardly in their noise. */
export function pooledDeviation(tallies: Iterable<Tally>): { readonly std: number; readonly freedom: number } {
  let sum = 0
  let freedom = 0
  for (const tally of tallies) {
    sum += tally.squares
    freedom += tally.windows - tally.visits
  }
  return { std: Math.max(LEAST_DEVIATION, freedom > 0 ? Math.sqrt(sum / freedom) : 0), freedom }
}

/** Half the width of the two-sided confidence interval of the difference of two tallies' means, by Student's t with a pooled variance. */
export function halfWidth(a: Tally, b: Tally, all: Iterable<Tally>): number {
  const { std, freedom } = pooledDeviation(all)
  return studentQuantile(freedom, TWO_SIDED) * std * Math.sqrt(1 / a.windows + 1 / b.windows)
}

/** Before populations have been visited again, visits are thought to differ as single windows do; that weighs as much as so many degrees of freedom. */
const PRIOR_FREEDOM = 3

/**
 * By how much a population may be better against another than their visits say: one-sided, at 95%, by how visits differ and not windows. At first visits
 * are thought to differ by `least` at least.
 */
export function doubt(a: Tally, b: Tally, all: readonly Tally[], least = 0): number {
  let sum = PRIOR_FREEDOM * Math.max(least, pooledDeviation(all).std) ** 2
  let freedom = PRIOR_FREEDOM
  for (const tally of all) {
    sum += tally.squaresOfVisits
    freedom += tally.visits - 1
  }
  return studentQuantile(freedom, ONE_SIDED) * Math.sqrt((sum / freedom) * (1 / a.visits + 1 / b.visits))
}

/** Of the normal distribution at 0.995: a decision is looked for after every window, and so many looks at 99% err together about once in twenty. */
const TWO_SIDED = 2.5758

/** Of the normal distribution at 0.95. */
const ONE_SIDED = 1.6449

/**
 * Student's t for so many degrees of freedom, where the normal distribution has `normal`: Cornish-Fisher expansion (Abramowitz and Stegun, 26.7.5),
 * to 1% from 3 on. Below it is that at 0.995, which is the larger.
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
