import { shown } from '../../errors.js'
import { corruptFile } from '../file-errors.js'
import type { PlainObject } from '../json-file.js'
import { endOfClass } from './slow-patterns.js'

/** As Rust's regular expressions have them, by which Hugging Face's own tokenizers are computed: letters of all scripts are letters, and a byte-order mark is no blank. */
const [WORD, BLANK] = [String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}`, String.raw`\p{White_Space}`]
const PUNCTUATION = String.raw`\p{P}\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E`

/** Characters of a part of a fixed length. */
const LONGEST_PART = 2 ** 20

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
      return splitAt(`[${PUNCTUATION}]`, part) ?? given
    case 'Split':
      return splitOf(part)
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

/** Splits a text at the matches of a pattern. `behavior` says what becomes of a match: a part of its own, a part of its neighbour, or nothing. undefined for a behavior that is not known. */
function splitAt(pattern: string, { behavior = 'Isolated' }: PlainObject): PlainObject | undefined {
  const [found, other] = [`(?:${pattern})`, String.raw`(?:(?!${pattern})[\s\S])`]
  const patterns: Readonly<Record<string, string>> = {
    isolated: `${found}|${other}+`,
    contiguous: `${found}+|${other}+`,
    mergedwithprevious: `${other}*${found}|${other}+`,
    mergedwithnext: `${found}${other}*|${other}+`
  }
  const kind = String(behavior).toLowerCase()
  if (kind === 'removed') return { type: 'Split', pattern: { Regex: pattern }, behavior, invert: false }
  return patterns[kind] === undefined ? undefined : parts(patterns[kind])
}

/** The library knows two behaviours, and takes groups that are removed for parts. Where a pattern is what is kept, only these two are published. */
function splitOf(part: PlainObject): PlainObject {
  const { pattern, behavior, invert } = part
  const { Regex: regex, String: text } = Object(pattern) as { readonly Regex?: unknown; readonly String?: unknown }
  const source =
    typeof regex === 'string' ? uncaptured(regex) : typeof text === 'string' ? text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&') : ''
  if (source === '') return part
  const kind = String(behavior).toLowerCase()
  if (kind === 'isolated') return { ...part, invert: false }
  return invert === true ? part : (splitAt(source, part) ?? part)
}

/** The same pattern with groups that capture nothing. */
function uncaptured(pattern: string): string {
  let plain = ''
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i]!
    const end = character === '\\' ? i + 1 : character === '[' ? endOfClass(pattern, i) : i
    plain += character === '(' && pattern[i + 1] !== '?' ? '(?:' : pattern.slice(i, end + 1)
    i = end
  }
  return plain
}

function lengthOf({ length = 5 }: PlainObject, file: string): number {
  if (Number.isSafeInteger(length) && (length as number) >= 1 && (length as number) <= LONGEST_PART) return length as number
  throw corruptFile(file, { where: 'pre_tokenizer: length', expected: `a whole number from 1 to ${LONGEST_PART}`, found: shown(length) })
}

/**
 * A normalizer of a tokenizer.json in a form that the library computes as Hugging Face's own tokenizers do: letters become small ones each by itself, a sigma at the end of a word too, and a
 * byte-order mark is no blank. Others stay as they are.
 */
export function exactNormalizer(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given
  const part = given as PlainObject
  const { type, normalizers, lowercase, strip_left: left, strip_right: right } = part
  if (type === 'Sequence' && Array.isArray(normalizers)) return { ...part, normalizers: normalizers.map(exactNormalizer) }
  if (type === 'Lowercase' || (type === 'BertNormalizer' && lowercase === true))
    return inTurn({ type: 'Replace', pattern: { String: 'Σ' }, content: 'σ' }, part)
  if (type !== 'Strip') return given
  const without = (blanks: string) => ({ type: 'Replace', pattern: { Regex: blanks }, content: '' })
  // Only where blanks begin: to try each of many in the middle of a text would take hours.
  const [first, last] = [String.raw`\A${BLANK}+`, String.raw`(?<!${BLANK})${BLANK}+\z`]
  return inTurn(...(left === true ? [without(first)] : []), ...(right === true ? [without(last)] : []))
}

function inTurn(...normalizers: readonly PlainObject[]): PlainObject {
  return { type: 'Sequence', normalizers }
}
