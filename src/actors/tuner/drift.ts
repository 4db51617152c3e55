/**
 * Tells when a level has moved for good: a two-sided cumulative sum (Page, "Continuous inspection schemes", Biometrika 1954). What lies within
 * the allowance of the level is forgotten; what goes beyond adds up.
 */
export class Drift {
  readonly #level: number
  readonly #allowance: number
  readonly #limit: number
  #up = 0
  #down = 0

  constructor({ level, allowance, limit }: { level: number; allowance: number; limit: number }) {
    this.#level = level
    this.#allowance = allowance
    this.#limit = limit
  }

  /** -1 where the level has fallen, 1 where it has risen, 0 where it holds. */
  observe(value: number): -1 | 0 | 1 {
    // Bounded, so that a level that comes back is soon believed.
    const sum = (before: number, excess: number) => Math.min(2 * this.#limit, Math.max(0, before + excess - this.#allowance))
    this.#up = sum(this.#up, value - this.#level)
    this.#down = sum(this.#down, this.#level - value)
    if (this.#up <= this.#limit && this.#down <= this.#limit) return 0
    return this.#up > this.#down ? 1 : -1
  }
}
