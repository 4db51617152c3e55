import type { Comparison } from './comparison.js'

/** Visits to each contender at most: a difference that is still in doubt then is hardly worth more visits. */
const MOST_ROUNDS = 8

/** Contenders of a round at most: of many that are alike, the best of a few are good enough. */
const MOST_CONTENDERS = 5

/** Windows of a visit. */
export const VISIT_WINDOWS = 4

/**
 * Visits in turns the populations that could still be the best, until one is the best beyond doubt. A single visit may be fast by luck, because of the
 * cores on which the system placed the threads. Each round has only the populations that are still in doubt.
 */
export class Runoff {
  readonly #comparison: Comparison
  #left: number[] = []
  #rounds = 0

  constructor(comparison: Comparison) {
    this.#comparison = comparison
  }

  /** The population to visit after this one; undefined if the runoff is decided. */
  next(from: number): number | undefined {
    if (this.#left.length === 0) this.#left = this.#round(from)
    return this.#left.shift()
  }

  /** Begins another round: a contender has turned out to be impossible, which may decide the runoff. */
  endRound(): void {
    this.#left = []
  }

  #round(from: number): number[] {
    const contenders = this.#comparison
      .contenders()
      .slice(0, MOST_CONTENDERS)
      .sort((a, b) => a - b)
    if (contenders.length === 1 || this.#rounds === MOST_ROUNDS) return []
    this.#rounds++
    // The present population comes last: without a change before it, a visit measures nothing new.
    return [...contenders.filter((population) => population > from), ...contenders.filter((population) => population <= from)]
  }
}
