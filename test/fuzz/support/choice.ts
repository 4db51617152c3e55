/** Random choices from a seed, the same in every process: the number of a harmful input reproduces it. */
export class Choice {
  #state: number

  constructor(seed: number) {
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ Math.floor(seed / 2 ** 32)) >>> 0
  }

  /** A number in [0, 1), by mulberry32. */
  share(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(count: number): number {
    return Math.floor(this.share() * count)
  }

  among<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!
  }

  happens(chance: number): boolean {
    return this.share() < chance
  }
}
