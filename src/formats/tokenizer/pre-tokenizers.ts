import { shown } from '../../errors.js'
import { corruptFile } from '../file-errors.js'
import type { PlainObject } from '../json-file.js'

/** As Rust's regular expressions have them, by which Hugging Face's own tokenizers are computed: letters of all scripts are letters, and a byte-order mark is no blank. */
const [WORD, BLANK] = [String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}`, String.raw`\p{White_Space}`]
const PUNCTUATION = String.raw`\p{P}\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E`

/** Characters of a part of a fixed length. */
const LONGEST = 2 ** 20

/**
 * A pre-tokenizer of a tokenizer.json in a form that the library computes as Hugging Face's own tokenizers do: its classes of words, digits and blanks are otherwise those of ASCII or of
 * JavaScript. Other pre-tokenizers stay as they are, also that of bytes, whose blanks are JavaScript's: a second step would make it slower for the sake of U+FEFF and U+0085. Throws
 * DATA_CORRUPT; `file` names the origin.
 */
export function exactPreTokenizer(given: unknown, file: string): unknown {
  if (typeof given !== 'object' || given === null) return given
  const part = given as PlainObject
  switch (part['type']) {
    case 'Sequence':
      return sequenceOf(part, file)
    case 'Whitespace':
      return parts(`[${WORD}]+|[^${WORD}${BLANK}]+`)
    case 'WhitespaceSplit':
      return parts(`[^${BLANK}]+`)
    case 'BertPreTokenizer':
      return parts(`[^${BLANK}${PUNCTUATION}]+|[${PUNCTUATION}]`)
    case 'Digits':
      return parts(String.raw`\P{N}+|\p{N}` + (part['individual_digits'] === true ? '' : '+'))
    case 'Punctuation':
      return punctuationOf(part)
    case 'FixedLength':
      return parts(String.raw`[\s\S]{1,${lengthOf(part, file)}}`)
    default:
      return given
  }
}

/** The parts of a text that match a pattern. */
function parts(pattern: string): PlainObject {
  return { type: 'Split', pattern: { Regex: pattern }, behavior: 'Removed', invert: true }
}

function sequenceOf(part: PlainObject, file: string): PlainObject {
  const { pretokenizers } = part
  return Array.isArray(pretokenizers) ? { ...part, pretokenizers: pretokenizers.map((each) => exactPreTokenizer(each, file)) } : part
}

function punctuationOf(part: PlainObject): PlainObject {
  const patterns: Readonly<Record<string, string>> = {
    removed: `[^${PUNCTUATION}]+`,
    isolated: `[^${PUNCTUATION}]+|[${PUNCTUATION}]`,
    contiguous: `[^${PUNCTUATION}]+|[${PUNCTUATION}]+`,
    mergedwithprevious: `[^${PUNCTUATION}]*[${PUNCTUATION}]|[^${PUNCTUATION}]+`,
    mergedwithnext: `[${PUNCTUATION}]?[^${PUNCTUATION}]+|[${PUNCTUATION}]`
  }
  const { behavior = 'Isolated' } = part
  const pattern = patterns[String(behavior).toLowerCase()]
  return pattern === undefined ? part : parts(pattern)
}

function lengthOf({ length = 5 }: PlainObject, file: string): number {
  if (Number.isSafeInteger(length) && (length as number) >= 1 && (length as number) <= LONGEST) return length as number
  throw corruptFile(file, { where: 'pre_tokenizer: length', expected: `a whole number from 1 to ${LONGEST}`, found: shown(length) })
}
