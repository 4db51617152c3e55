import { philox, type Words2, type Words4 } from '../model/philox.js'

/**
 * Seeded random numbers to generate and split data: one generator for each (seed, path), so that sample i does not depend on the
 * order in which samples are generated. sfc32 by Chris Doty-Humphrey (PractRand), seeded through MurmurHash3's finaliser. Uses only 32-bit integer
 * arithmetic: the same numbers on every machine.
 */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  /** `seed` is an integer below 2^53, the numbers of `path` are integers below 2^32. */
  constructor(seed: number, ...path: readonly number[]) {
    let state = mix(seed >>> 0)
    this.#a = state = mix(Math.floor(seed / 2 ** 32) ^ state)
    for (const step of path) state = mix(step ^ mix(state))
    this.#b = state
    this.#c = mix(state)
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
   * Approximately normal with mean 0 and the given standard deviation, within 3.5 deviations: the sum of four uniform numbers. Uses no
   * library function, whose results could differ between machines.
   */
  normal(std: number): number {
    const sum = this.bits() + this.bits() + this.bits() + this.bits()
    return (sum / 2 ** 32 - 2) * std * Math.sqrt(3)
  }

  /** The next `count` numbers of `normal`, in a loop that keeps the state in registers. */
  normals(count: number, std: number): Float64Array {
    const values = new Float64Array(count)
    // The conversions tell the compiler that these are 32-bit integers.
    let a = this.#a | 0
    let b = this.#b | 0
    let c = this.#c | 0
    let counter = this.#counter | 0
    for (let i = 0; i < count; i++) {
      let total = 0
      for (let part = 0; part < 4; part++) {
        const sum = (a + b + counter) | 0
        counter = (counter + 1) | 0
        a = b ^ (b >>> 9)
        b = (c + (c << 3)) | 0
        c = (((c << 21) | (c >>> 11)) + sum) | 0
        total += sum >>> 0
      }
      values[i] = (total / 2 ** 32 - 2) * std * Math.sqrt(3)
    }
    this.#a = a
    this.#b = b
    this.#c = c
    this.#counter = counter
    return values
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

function mix(bits: number): number {
  let h = (bits + 0x9e3779b9) | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

/** What a Philox stream is used for, as in native/src/core/random.h. */
const ORDER = 1
const READ = 5

/**
 * The sample at position `place` of epoch `epoch`, in a seeded random permutation of `count` samples, fewer than 2^32. Identical to `permuted`
 * of native/src/core/random.h, so that streamed data comes in the same order as data in memory.
 */
export function permuted(key: Words2, epoch: number, place: number, count: number): number {
  let half = 1
  while (4 ** half < count) half++
  const side = 2 ** half
  const stream = epoch * 256 + ORDER
  let index = place
  do {
    let [left, right] = [Math.floor(index / side), index % side]
    for (let round = 0; round < 4; round++) {
      const [word] = philox(key, [right * 4 + round, 0, stream >>> 0, Math.floor(stream / 2 ** 32)])
      ;[left, right] = [right, (left ^ (word & (side - 1))) >>> 0]
    }
    index = left * side + right
  } while (index >= count)
  return index
}

/** The sample at a position in the infinite sequence of epochs. */
export function sampleAt(key: Words2, position: number, count: number): number {
  return permuted(key, Math.floor(position / count), position % count, count)
}

/** Random numbers of one sample: they depend only on seed and position, not on the thread or the order of the calls. */
export class Draws {
  readonly #key: Words2
  readonly #position: number

  constructor(key: Words2, position: number) {
    this.#key = key
    this.#position = position
  }

  /** Four numbers in [0, 1); each `index` gives other numbers. */
  four(index: number): readonly [number, number, number, number] {
    const words: Words4 = philox(this.#key, [this.#position >>> 0, Math.floor(this.#position / 2 ** 32), READ, index])
    return [words[0] / 2 ** 32, words[1] / 2 ** 32, words[2] / 2 ** 32, words[3] / 2 ** 32]
  }
}
