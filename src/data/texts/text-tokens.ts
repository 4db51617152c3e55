import type { TextEncoding } from '../../formats/encoding.js'
import { corruptFile } from '../../formats/file-errors.js'
import { Tokenizer } from '../../formats/tokenizer/tokenizer.js'
import { allocate } from '../checks.js'

/** Characters of a text that are looked at for each token that a sample has: what a tokenizer makes of the rest is not asked. */
export const CHARACTERS_PER_TOKEN = 64

/** How the tokens of a text are made and kept. 0 stands behind its end. */
export interface TextTokens {
  /** An array of this length, all of it 0. Throws OUT_OF_MEMORY. */
  room(tokens: number): Uint8Array | Int32Array
  /** Writes the first tokens of a text, as many as there is room for. Throws DATA_CORRUPT for a text that the tokenizer has no tokens for. */
  write(text: string, to: Uint8Array | Int32Array): void
}

const encoder = new TextEncoder()

/** The bytes of a text in UTF-8. A zero byte would be its end: a space stands for it. */
const BYTES: TextTokens = {
  room: (tokens) => allocate(tokens, 'texts'),
  write(text, to) {
    const bytes = to instanceof Uint8Array ? to : new Uint8Array(to.length)
    const { written } = encoder.encodeInto(text.slice(0, to.length).replaceAll('\0', ' '), bytes)
    if (bytes !== to) to.set(bytes.subarray(0, written))
  }
}

/** Tokens of a tokenizer, each plus 1. */
function tokensBy(tokenizer: Tokenizer): TextTokens {
  return {
    room: (tokens) => new Int32Array(allocate(4 * tokens, 'texts').buffer),
    write(text, to) {
      let at = 0
      for (const some of tokenizer.encodeInPieces(text.slice(0, CHARACTERS_PER_TOKEN * to.length)))
        for (const token of some) {
          if (at === to.length) return
          to[at++] = token + 1
        }
    }
  }
}

/** How many values a token of this tokenizer's texts has: the end, and the tokens. */
export function tokenValues({ size }: Tokenizer): number {
  return size + 1
}

/** The tokenizers of encodings: a served model encodes texts one by one. */
const known = new WeakMap<object, TextTokens>()

/** Throws DATA_CORRUPT for a tokenizer that is none, or has other tokens than the encoding says. */
export function textTokensOf(encoding: Pick<TextEncoding, 'tokenizer' | 'tokens'>): TextTokens {
  const { tokenizer: files, tokens } = encoding
  if (files === undefined) return BYTES
  const found = known.get(files)
  if (found) return found
  const tokenizer = Tokenizer.of(files, 'the tokenizer of the texts')
  if (tokenValues(tokenizer) !== tokens)
    throw corruptFile('the tokenizer of the texts', { expected: `${tokens! - 1} tokens`, found: `${tokenizer.size}` })
  const made = tokensBy(tokenizer)
  known.set(files, made)
  return made
}
