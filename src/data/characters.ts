import { allocate } from './faults.js'

/** A text by its characters. */
export interface Characters {
  /** Every character that it has, in Unicode's order. */
  readonly vocabulary: readonly string[]
  /** For each character its place in the vocabulary. */
  readonly tokens: Int32Array<ArrayBuffer>
}

const CODE_POINTS = 0x110000

/**
 * The characters of a text that comes in pieces, each of whole characters. It is walked twice, so that it costs four bytes a character however
 * long it is; undefined where the second walk finds another text. Throws OUT_OF_MEMORY, and what a walk throws.
 */
export async function charactersOf(name: string, walk: () => AsyncIterable<string> | Iterable<string>): Promise<Characters | undefined> {
  const known = new Uint8Array(CODE_POINTS)
  let count = 0
  for await (const piece of walk()) count += each(piece, (codePoint) => (known[codePoint] = 1))
  const numbers = new Int32Array(CODE_POINTS).fill(-1)
  const vocabulary: string[] = []
  for (let codePoint = 0; codePoint < CODE_POINTS; codePoint++)
    if (known[codePoint] === 1) numbers[codePoint] = vocabulary.push(String.fromCodePoint(codePoint)) - 1
  const tokens = new Int32Array(allocate(Int32Array.BYTES_PER_ELEMENT * count, name).buffer)
  let at = 0
  let strangers = 0
  for await (const piece of walk())
    each(piece, (codePoint) => {
      const number = numbers[codePoint]!
      if (number < 0) strangers++
      tokens[at++] = number
    })
  return at === count && strangers === 0 ? { vocabulary, tokens } : undefined
}

/** Returns how many there are. */
function each(text: string, visit: (codePoint: number) => void): number {
  let count = 0
  for (let i = 0; i < text.length; count++) {
    const codePoint = text.codePointAt(i)!
    visit(codePoint)
    i += codePoint > 0xffff ? 2 : 1
  }
  return count
}
