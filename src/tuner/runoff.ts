import type { Standings } from './standings.js'

/** Visits to each contender at most. What they differ by after so many is hardly worth more. */
const MOST_ROUNDS = 8

/** So many at a time: where many are alike, the best of a few are as good as any. */
const MOST_CONTENDERS = 5

/** Windows of a visit. */
export const VISIT_WINDOWS = 4

/**
 * Visits those by turns that could still be the best, until none of them may be missed, so that a population's luck with where the system put its
 * threads does not decide. Each round is of those alone that are still in doubt.
 */
export class Runoff {
  readonly #standings: Standings
  #left: number[] = []
  #rounds = 0

  constructor(standings: Standings) {
    this.#standings = standings
  }

  /** Where to go from a population: undefined where it is decided. */
  next(from: number): number | undefined {
    if (this.#left.length === 0) this.#left = this.#round(from)
    return this.#left.shift()
  }

  /** Where one of them cannot be had any more, others may be beyond doubt. */
  endRound(): void {
    this.#left = []
  }

  #round(from: number): number[] {
    const contenders = this.#standings
      .contenders()
      .slice(0, MOST_CONTENDERS)
      .sort((a, b) => a - b)
    if (contenders.length === 1 || this.#rounds === MOST_ROUNDS) return []
    this.#rounds++
    // Where it stands comes last: a visit that follows one to the same population would say nothing new.
    return [...contenders.filter((population) => population > from), ...contenders.filter((population) => population <= from)]
  }
}
