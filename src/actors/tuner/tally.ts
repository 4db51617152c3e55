/** What was measured of one population: logarithms of throughputs, so that differences are ratios. */
export class Tally {
  readonly #logs: number[] = []

  add(throughput: number): void {
    this.#logs.push(Math.log(throughput))
  }

  get count(): number {
    return this.#logs.length
  }

  get mean(): number {
    return this.#logs.reduce((sum, value) => sum + value, 0) / this.#logs.length
  }

  get squares(): number {
    const { mean } = this
    return this.#logs.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  }
}

/** No machine is steadier than this from window to window: a few windows that happen to agree prove nothing. */
const LEAST_DEVIATION = 0.005

/** Deviation of a single window, from all tallies together: they differ in their means and hardly in their noise. */
export function pooledDeviation(tallies: Iterable<Tally>): { readonly deviation: number; readonly freedom: number } {
  let squares = 0
  let freedom = 0
  for (const tally of tallies) {
    squares += tally.squares
    freedom += tally.count - 1
  }
  return { deviation: Math.max(LEAST_DEVIATION, freedom > 0 ? Math.sqrt(squares / freedom) : 0), freedom }
}

/** Half the width of the two-sided confidence interval of the difference of two tallies' means, by Student's t with a pooled variance. */
export function halfWidth(a: Tally, b: Tally, all: Iterable<Tally>): number {
  const { deviation, freedom } = pooledDeviation(all)
  return studentQuantile(freedom) * deviation * Math.sqrt(1 / a.count + 1 / b.count)
}

/** Of the normal distribution at 0.995: a decision is looked for after every window, and so many looks at 99% err together about once in twenty. */
const NORMAL = 2.5758

/** Student's t at 0.995 for so many degrees of freedom: Cornish-Fisher expansion (Abramowitz and Stegun, 26.7.5), to 1% from 3 on. */
export function studentQuantile(freedom: number): number {
  if (freedom < 1) return Infinity
  if (freedom < 3) return freedom === 1 ? 63.657 : 9.925
  const z = NORMAL
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160
  ]
  return terms.reduce((sum, term, i) => sum + term / freedom ** (i + 1), z)
}
