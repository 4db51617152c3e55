/**
 * Tells when a level has moved for good: a two-sided cumulative sum (Page, "Continuous inspection schemes", Biometrika 1954). What lies within
 * the allowance of the level is forgotten; what goes beyond adds up.
 */
export class Drift {
  readonly #level: number
  readonly #up: Excess
  readonly #down: Excess

  constructor({ level, allowance, limit }: { level: number; allowance: number; limit: number }) {
    this.#level = level
    this.#up = new Excess(allowance, limit)
    this.#down = new Excess(allowance, limit)
  }

  /** How far the level has moved, in the mean since it began to: above 0 where it has risen, below where it has fallen, 0 where it holds. */
  observe(value: number): number {
    this.#up.add(value - this.#level)
    this.#down.add(this.#level - value)
    if (!this.#up.isTooMuch && !this.#down.isTooMuch) return 0
    return this.#up.sum > this.#down.sum ? this.#up.mean : -this.#down.mean
  }
}

/** What goes beyond the allowance on one side, since there was last nothing left of it. */
class Excess {
  readonly #allowance: number
  readonly #limit: number
  sum = 0
  #total = 0
  #count = 0

  constructor(allowance: number, limit: number) {
    this.#allowance = allowance
    this.#limit = limit
  }

  get isTooMuch(): boolean {
    return this.sum > this.#limit
  }

  get mean(): number {
    return this.#total / this.#count
  }

  add(difference: number): void {
    // Bounded, so that a level that comes back is soon believed.
    this.sum = Math.min(2 * this.#limit, Math.max(0, this.sum + difference - this.#allowance))
    if (this.sum === 0) this.#total = this.#count = 0
    else {
      this.#total += difference
      this.#count++
    }
  }
}
