/**
 * Detects a lasting change of a level: a two-sided cumulative sum (Page, "Continuous inspection schemes", Biometrika 1954). Only the part of a difference
 * beyond `allowance` counts; the level has changed when the sum of these parts exceeds `limit`.
 */
export class Drift {
  readonly #level: number
  readonly #up: CumulativeSum
  readonly #down: CumulativeSum

  constructor({ level, allowance, limit }: { level: number; allowance: number; limit: number }) {
    this.#level = level
    this.#up = new CumulativeSum(allowance, limit)
    this.#down = new CumulativeSum(allowance, limit)
  }

  /** The mean difference from the level since it began to change: positive or negative, or 0 if the level holds. */
  observe(value: number): number {
    this.#up.add(value - this.#level)
    this.#down.add(this.#level - value)
    if (!this.#up.exceedsLimit && !this.#down.exceedsLimit) return 0
    return this.#up.sum > this.#down.sum ? this.#up.mean : -this.#down.mean
  }
}

/** The cumulative sum of one side. */
class CumulativeSum {
  readonly #allowance: number
  readonly #limit: number
  sum = 0
  #total = 0
  #count = 0

  constructor(allowance: number, limit: number) {
    this.#allowance = allowance
    this.#limit = limit
  }

  get exceedsLimit(): boolean {
    return this.sum > this.#limit
  }

  /** Of the differences since the sum was last 0. */
  get mean(): number {
    return this.#total / this.#count
  }

  add(difference: number): void {
    // Bounded, so that a return to the level is detected soon.
    this.sum = Math.min(2 * this.#limit, Math.max(0, this.sum + difference - this.#allowance))
    if (this.sum === 0) this.#total = this.#count = 0
    else {
      this.#total += difference
      this.#count++
    }
  }
}
