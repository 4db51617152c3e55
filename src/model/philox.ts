/**
 * Philox4x32-10, a counter-based generator: the same key and counter give the same four words in any order and on any machine
 * (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The twin of native/src/core/random.h.
 */

export type Words2 = readonly [number, number]
export type Words4 = readonly [number, number, number, number]

/** Of `philox`, which is called by one caller at a time. */
const FOUR = new Uint32Array(4)

/** Four words of 32 random bits; key and counter are words of 32 bits, the lowest first. */
export function philox(key: Words2, counter: Words4): Words4 {
  philoxInto(FOUR, key, counter[0], counter[1], counter[2], counter[3])
  return [FOUR[0]!, FOUR[1]!, FOUR[2]!, FOUR[3]!]
}

/** The same, written into four words that are there already: millions of draws leave no garbage. */
export function philoxInto(words: Uint32Array, [k0, k1]: Words2, c0: number, c1: number, c2: number, c3: number): void {
  for (let round = 0; round < 10; round++) {
    const highA = multiplyHigh(0xd2511f53, c0)
    const lowA = Math.imul(0xd2511f53, c0) >>> 0
    const highB = multiplyHigh(0xcd9e8d57, c2)
    const lowB = Math.imul(0xcd9e8d57, c2) >>> 0
    c0 = (highB ^ c1 ^ k0) >>> 0
    c1 = lowB
    c2 = (highA ^ c3 ^ k1) >>> 0
    c3 = lowA
    k0 = (k0 + 0x9e3779b9) >>> 0
    k1 = (k1 + 0xbb67ae85) >>> 0
  }
  words[0] = c0
  words[1] = c1
  words[2] = c2
  words[3] = c3
}

/** The upper 32 bits of the 64-bit product of two words, in halves so that no partial product loses bits. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff
  const aHigh = a >>> 16
  const bLow = b & 0xffff
  const bHigh = b >>> 16
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16)
  const carry = aLow * bHigh + (middle % 0x10000)
  return (aHigh * bHigh + Math.floor(middle / 0x10000) + Math.floor(carry / 0x10000)) >>> 0
}

/** A seed as the generator's key: a whole number from 0 to 2^53 - 1, its low word first. */
export function keyOf(seed: number): Words2 {
  return [seed >>> 0, Math.floor(seed / 2 ** 32)]
}
