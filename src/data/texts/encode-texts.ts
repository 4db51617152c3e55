import { invalidOption } from '../../errors.js'
import type { TextEncoding } from '../../formats/encoding.js'
import { allocate } from '../checks.js'
import { textTokensOf } from './text-tokens.js'

/**
 * Texts, without the blanks around them, as tokens (texts, length): the bytes of each in UTF-8, or the tokens of the encoding's tokenizer, up to the length, and zeros behind its end.
 * Throws INVALID_OPTION, OUT_OF_MEMORY, DATA_CORRUPT for a tokenizer that is none.
 */
export function encodeTexts(encoding: Pick<TextEncoding, 'length' | 'tokenizer' | 'tokens'>, texts: readonly string[]): Int32Array {
  const { length } = encoding
  const tokens = textTokensOf(encoding)
  const all = new Int32Array(allocate(4 * length * texts.length, 'texts').buffer)
  for (const [i, text] of texts.entries()) {
    if (typeof text !== 'string') throw invalidOption(`texts[${i}]`, text, 'give a text')
    // The texts of the training were trimmed, too.
    tokens.write(text.trim(), all.subarray(i * length, (i + 1) * length))
  }
  return all
}
