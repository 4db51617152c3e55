import { ArbalestError } from '../errors.js'
import type { Tokenizer } from '../formats/tokenizer/tokenizer.js'
import { eventLoopTurn } from '../node.js'
import { Growing } from './tables/growing.js'

/** Characters that a string can have. */
const LONGEST = 2 ** 29 - 24

/** The tokens of a text that comes in pieces. Lets the event loop turn. Throws OUT_OF_MEMORY, and what reading and the tokenizer throw. */
export async function tokensOf(
  name: string,
  read: AsyncIterable<string> | Iterable<string>,
  tokenizer: Tokenizer
): Promise<Int32Array<ArrayBuffer>> {
  let text = ''
  for await (const piece of read) {
    if (text.length + piece.length > LONGEST)
      throw new ArbalestError(
        'OUT_OF_MEMORY',
        `${name}: it has more than ${LONGEST} characters, which a tokenizer does not take at once; use a part of it`
      )
    text += piece
  }
  const tokens = new Growing(Int32Array, name)
  for (const some of tokenizer.encodeInPieces(text)) {
    for (const token of some) tokens.push(token)
    await eventLoopTurn()
  }
  return tokens.values().slice()
}
