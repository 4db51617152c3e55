/**
 * Seeded random numbers for making and splitting data: one generator for each (seed, path), so that sample i is the same in whatever
 * order samples are made. sfc32 by Chris Doty-Humphrey (PractRand), seeded through MurmurHash3's finaliser. All of it is 32-bit integer
 * arithmetic: the same numbers on every machine.
 */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  /** The stream named by `path` of `seed`; all of them integers, below 2^53 and 2^32. */
  constructor(seed: number, ...path: readonly number[]) {
    let state = mixed(seed >>> 0)
    this.#a = state = mixed(Math.floor(seed / 2 ** 32) ^ state)
    for (const step of path) state = mixed(step ^ mixed(state))
    this.#b = state
    this.#c = mixed(state)
    for (let i = 0; i < 12; i++) this.bits()
  }

  /** An integer in [0, 2^32). */
  bits(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** A number in [low, high). */
  between(low: number, high: number): number {
    return low + ((high - low) * this.bits()) / 2 ** 32
  }

  /** An integer in [0, count). */
  below(count: number): number {
    return Math.floor((count * this.bits()) / 2 ** 32)
  }

  chance(probability: number): boolean {
    return this.bits() < probability * 2 ** 32
  }

  /**
   * Bell-shaped, mean 0 and the given deviation, within 3.5 deviations: the sum of four uniform numbers, which needs no library function.
   */
  bell(deviation: number): number {
    const sum = this.bits() + this.bits() + this.bits() + this.bits()
    return (sum / 2 ** 32 - 2) * deviation * Math.sqrt(3)
  }

  /** Shuffles in place (Fisher and Yates). */
  shuffle(values: Int32Array): Int32Array {
    for (let i = values.length - 1; i > 0; i--) {
      const j = this.below(i + 1)
      const kept = values[i]!
      values[i] = values[j]!
      values[j] = kept
    }
    return values
  }
}

function mixed(bits: number): number {
  let h = (bits + 0x9e3779b9) | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
