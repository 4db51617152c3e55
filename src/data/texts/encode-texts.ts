import { invalidOption } from '../../errors.js'
import type { TextEncoding } from '../../formats/encoding.js'
import { allocate } from '../checks.js'

/** Texts as tokens (texts, length): the bytes of each in UTF-8 up to the length, and zeros behind its end. Throws INVALID_OPTION, OUT_OF_MEMORY. */
export function encodeTexts({ length }: Pick<TextEncoding, 'length'>, texts: readonly string[]): Int32Array {
  const tokens = new Int32Array(allocate(4 * length * texts.length, 'texts').buffer)
  const bytes = new Uint8Array(length)
  for (const [i, text] of texts.entries()) {
    if (typeof text !== 'string') throw invalidOption(`texts[${i}]`, text, 'give a text')
    tokens.set(bytes.subarray(0, bytesOf(text, bytes)), i * length)
  }
  return tokens
}

const encoder = new TextEncoder()

/** Writes the first bytes of a text; returns how many. A zero byte would be its end: a space stands for it. */
export function bytesOf(text: string, to: Uint8Array): number {
  return encoder.encodeInto(text.slice(0, to.length).replaceAll('\0', ' '), to).written
}
