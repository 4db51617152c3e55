import { philox, type Words2, type Words4 } from '../model/philox.js'

/** What a stream of random numbers is for, as in native/src/core/random.h. */
const ORDER = 1
const READ = 5

/**
 * The sample at `place` of epoch `epoch` in a seeded random order of `count` samples: `permuted` of native/src/core/random.h, number for number,
 * so that data that streams comes in the order in which it would be gathered from memory. For fewer than 2^32 samples.
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

/** The sample that stands at a position of the endless sequence of epochs. */
export function sampleAt(key: Words2, position: number, count: number): number {
  return permuted(key, Math.floor(position / count), position % count, count)
}

/** Random numbers of one sample: the same for the same seed and position, in whatever thread and order they are asked for. */
export class Draws {
  readonly #key: Words2
  readonly #position: number

  constructor(key: Words2, position: number) {
    this.#key = key
    this.#position = position
  }

  /** Four numbers in [0, 1), told apart by `which`. */
  four(which: number): readonly [number, number, number, number] {
    const words: Words4 = philox(this.#key, [this.#position >>> 0, Math.floor(this.#position / 2 ** 32), READ, which])
    return [words[0] / 2 ** 32, words[1] / 2 ** 32, words[2] / 2 ** 32, words[3] / 2 ** 32]
  }
}
