import * as v from 'valibot'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { invalidOption, shown } from '../../errors.js'
import { corruptFile, foundAt } from '../file-errors.js'
import { checked, parseObject, readText, type JsonLimits, type PlainObject } from '../json-file.js'
import { refuseSlowPatterns } from './slow-patterns.js'

/** A tokenizer as its files have it, which a saved model keeps. */
export interface TokenizerFiles {
  /** The content of tokenizer.json. */
  readonly json: string
  /** The content of tokenizer_config.json. */
  readonly config?: string
}

/** Vocabularies of 250,000 tokens have 20 MB. */
const LIMITS: JsonLimits = { bytes: 2 ** 26, values: 2 ** 21 }

const MOST_TOKENS = 2 ** 20

/** What to do about a tokenizer that is whole, but of another kind. */
export const ANOTHER = 'use another tokenizer: those of byte pairs (BPE) are read'

const token = v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(MOST_TOKENS - 1))

const schema = v.looseObject({
  added_tokens: v.nullish(
    v.pipe(
      v.array(
        v.looseObject({
          id: token,
          content: v.pipe(v.string(), v.minLength(1)),
          // A token that is none within a word: the library would take it for one there, too.
          single_word: v.nullish(v.literal(false))
        })
      ),
      v.maxLength(2 ** 16)
    ),
    []
  ),
  model: v.looseObject({
    type: v.optional(v.literal('BPE'), 'BPE'),
    // Tokens within a word that begin otherwise: the library would take them for those at its beginning.
    continuing_subword_prefix: v.nullish(v.literal('')),
    vocab: v.record(v.string(), token),
    merges: v.array(v.union([v.string(), v.strictTuple([v.string(), v.string()])]))
  })
})

/** A tokenizer that was checked: BPE, with so many tokens. */
export interface CheckedTokenizer {
  readonly json: PlainObject
  readonly config: PlainObject
  /** One more than the highest token. */
  readonly size: number
  readonly addedTokens: readonly { readonly id: number; readonly content: string }[]
}

/** Throws DATA_CORRUPT; `file` names the origin. */
export function checkTokenizer({ json, config }: TokenizerFiles, file: string): CheckedTokenizer {
  const parsed = parseObject(json, file, LIMITS)
  const { model, added_tokens: added } = checked(schema, parsed, file, ANOTHER)
  refuseSlowPatterns(parsed, file)
  const tokens = [...Object.values(model.vocab), ...(added ?? []).map(({ id }) => id)]
  if (Object.keys(model.vocab).length === 0) throw corruptFile(file, { where: 'model.vocab', expected: 'tokens', found: 'none' })
  const size = tokens.reduce((most, id) => Math.max(most, id), 0) + 1
  // A forged number of one token must not make a table of a million rows.
  if (size > 2 * tokens.length + 1024)
    throw corruptFile(file, { where: 'model.vocab', expected: `numbers of ${tokens.length} tokens`, found: `${size - 1}` })
  for (const merge of model.merges)
    if (typeof merge === 'string' && merge.split(' ').length !== 2)
      throw corruptFile(file, { where: 'model.merges', expected: 'pairs of tokens', found: shown(merge) })
  return {
    json: parsed,
    config: config === undefined ? {} : parseObject(config, `${file} (its config)`, LIMITS),
    size,
    addedTokens: added ?? []
  }
}

/**
 * The tokenizer of a folder, or of a tokenizer.json: tokenizer.json and tokenizer_config.json, or vocab.json, merges.txt and added_tokens.json as GPT-2 has them. Undefined if a folder has
 * none. Throws DATA_NOT_FOUND, DATA_CORRUPT.
 */
export function readTokenizerFiles(path: string): TokenizerFiles | undefined {
  if (!foundAt(path)?.isDirectory()) return { json: readText(path, LIMITS.bytes) }
  const within = (name: string) => join(path, name)
  const has = (name: string) => existsSync(within(name))
  const text = (name: string) => readText(within(name), LIMITS.bytes)
  const config = has('tokenizer_config.json') ? { config: text('tokenizer_config.json') } : {}
  if (has('tokenizer.json')) return { json: text('tokenizer.json'), ...config }
  if (!has('vocab.json') || !has('merges.txt')) return undefined
  const object = (name: string) => (has(name) ? parseObject(text(name), within(name), LIMITS) : {})
  const added = [...addedIn(object('added_tokens.json')), ...describedIn(object('tokenizer_config.json'))]
  return { json: byteLevelBpe(object('vocab.json'), text('merges.txt'), added), ...config }
}

/** As `readTokenizerFiles`, for an option that names one. Throws INVALID_OPTION if a folder has none. */
export function tokenizerFilesOf(path: string, option: string): TokenizerFiles {
  const files = readTokenizerFiles(path)
  if (files) return files
  throw invalidOption(option, path, 'this folder has neither tokenizer.json nor vocab.json and merges.txt: name another')
}

const END_OF_TEXT = '<|endoftext|>'

/** A token of a tokenizer.json that is none of its model's. */
interface AddedToken extends PlainObject {
  readonly id: unknown
  readonly content: unknown
}

const addedToken = (id: unknown, content: unknown): AddedToken => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true
})

/** The tokens of an added_tokens.json, from contents to numbers. */
function addedIn(tokens: PlainObject): readonly AddedToken[] {
  return Object.entries(tokens).map(([content, id]) => addedToken(id, content))
}

/** The tokens that a tokenizer_config.json describes, by their numbers. */
function describedIn({ added_tokens_decoder: tokens }: PlainObject): readonly AddedToken[] {
  const described = Object.entries(Object(tokens) as Readonly<Record<string, unknown>>)
  return described.map(([id, given]) => ({ ...addedToken(undefined, undefined), ...(Object(given) as PlainObject), id: Number(id) }))
}

/** The tokenizer.json that says what GPT-2's vocab.json and merges.txt do, with further tokens, of which the last with a number counts. */
function byteLevelBpe(vocab: PlainObject, merges: string, added: readonly AddedToken[]): string {
  const lines = merges.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#version'))
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }
  const end = vocab[END_OF_TEXT]
  const all = end === undefined ? added : [addedToken(end, END_OF_TEXT), ...added]
  return JSON.stringify({
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [...new Map(all.map((each) => [each.id, each])).values()],
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: { ...byteLevel, trim_offsets: false },
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: '',
      end_of_word_suffix: '',
      fuse_unk: false,
      byte_fallback: false,
      vocab,
      merges: lines
    }
  })
}
