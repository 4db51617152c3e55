import { allocate } from './checks.js'

/** A text as tokens, one for each character. */
export interface TokenisedText {
  /** The distinct characters of the text, in Unicode order. */
  readonly vocabulary: readonly string[]
  /** The index of each character in the vocabulary. */
  readonly tokens: Int32Array<ArrayBuffer>
}

const CODE_POINTS = 0x110000

/**
 * Tokenises a text that `read` gives in pieces of complete characters. Reads it twice, first for the vocabulary, so that memory is four bytes a
 * character. Returns undefined if the text changed between the two. Throws OUT_OF_MEMORY, and the errors of `read`.
 */
export async function tokenise(name: string, read: () => AsyncIterable<string> | Iterable<string>): Promise<TokenisedText | undefined> {
  const known = new Uint8Array(CODE_POINTS)
  let count = 0
  for await (const piece of read()) count += forEachCodePoint(piece, (codePoint) => (known[codePoint] = 1))
  const numbers = new Int32Array(CODE_POINTS).fill(-1)
  const vocabulary: string[] = []
  for (let codePoint = 0; codePoint < CODE_POINTS; codePoint++)
    if (known[codePoint] === 1) numbers[codePoint] = vocabulary.push(String.fromCodePoint(codePoint)) - 1
  const tokens = new Int32Array(allocate(Int32Array.BYTES_PER_ELEMENT * count, name).buffer)
  let length = 0
  let unknown = 0
  for await (const piece of read())
    forEachCodePoint(piece, (codePoint) => {
      const number = numbers[codePoint]!
      if (number < 0) unknown++
      tokens[length++] = number
    })
  return length === count && unknown === 0 ? { vocabulary, tokens } : undefined
}

/** Returns the number of code points. */
function forEachCodePoint(text: string, visit: (codePoint: number) => void): number {
  let count = 0
  for (let i = 0; i < text.length; count++) {
    const codePoint = text.codePointAt(i)!
    visit(codePoint)
    i += codePoint > 0xffff ? 2 : 1
  }
  return count
}
