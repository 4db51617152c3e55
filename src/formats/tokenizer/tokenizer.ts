import type * as TokenizersLibrary from '@huggingface/tokenizers'
import type { Tokenizer as Library } from '@huggingface/tokenizers'
import { createRequire } from 'node:module'
import { messageOf, type ArbalestError } from '../../errors.js'
import { corruptFile } from '../file-errors.js'
import { exactNormalizer, exactPreTokenizer } from './exact-patterns.js'
import { ANOTHER, checkTokenizer, type CheckedTokenizer, type TokenizerFiles } from './tokenizer-files.js'

const require = createRequire(import.meta.url)

/** Characters that are encoded at a time. */
const PIECE = 2 ** 16

/** Where a text is cut: behind the letter. */
const CUT = /\p{L}(?= \p{L})/u

/** Texts to tokens and back, by a tokenizer.json. The library of Hugging Face does it. */
export class Tokenizer {
  readonly files: TokenizerFiles
  /** One more than the highest token. */
  readonly size: number
  readonly #library: Library
  readonly #file: string
  readonly #splits: boolean
  readonly #added: CheckedTokenizer['addedTokens']

  private constructor(files: TokenizerFiles, checked: CheckedTokenizer, library: Library, file: string) {
    this.files = files
    this.size = checked.size
    this.#library = library
    this.#file = file
    this.#added = checked.addedTokens
    const isCut = checked.addedTokens.some(({ content }) => CUT.test(content))
    this.#splits = !isCut && splitsAtSpaces(checked.json['pre_tokenizer']) && (checked.json['normalizer'] ?? null) === null
  }

  /** Throws DATA_CORRUPT for files that are no tokenizer of BPE; `file` names their origin. */
  static of(files: TokenizerFiles, file: string): Tokenizer {
    const checked = checkTokenizer(files, file)
    // Programs without a tokenizer do not load it.
    const { Tokenizer: Made } = require('@huggingface/tokenizers') as typeof TokenizersLibrary
    const { normalizer = null, pre_tokenizer: preTokenizer = null } = checked.json
    const splitting = exactPreTokenizer(asConfigured(preTokenizer, checked.config), file)
    const exact = { ...checked.json, normalizer: exactNormalizer(normalizer), pre_tokenizer: splitting }
    try {
      return new Tokenizer(files, checked, new Made(exact, checked.config), file)
    } catch (cause) {
      throw unreadable(file, cause)
    }
  }

  /** The tokens of a text, without those that a model puts around one. Throws DATA_CORRUPT if the tokenizer has no token for a part of it. */
  encode(text: string): number[] {
    return [...this.encodeInPieces(text)].flat()
  }

  /** As `encode`, a part of a long text at a time. */
  *encodeInPieces(text: string): Generator<readonly number[]> {
    for (const piece of this.#splits ? piecesOf(text) : [text]) yield this.#encoded(piece)
  }

  /** The text of tokens; those that the tokenizer does not have give nothing. */
  decode(tokens: Iterable<number>): string {
    const known = [...tokens].filter((token) => this.has(token))
    try {
      return known.length === 0 ? '' : this.#library.decode(known, { skip_special_tokens: false, clean_up_tokenization_spaces: false })
    } catch (cause) {
      throw unreadable(this.#file, cause)
    }
  }

  /** Whether there is a token of this number: a vocabulary may have gaps. */
  has(token: number): boolean {
    return this.#library.id_to_token(token) !== undefined
  }

  /** The token that ends a text, if there is one. */
  get end(): number | undefined {
    return this.#added.find(({ content }) => content === '<|endoftext|>')?.id
  }

  #encoded(text: string): readonly number[] {
    let ids: readonly unknown[]
    try {
      ids = this.#library.encode(text, { add_special_tokens: false }).ids
    } catch (cause) {
      throw unreadable(this.#file, cause)
    }
    if (ids.every((id): id is number => Number.isSafeInteger(id) && (id as number) >= 0 && (id as number) < this.size)) return ids
    throw corruptFile(this.#file, {
      expected: 'a token for every part of a text',
      found: 'none for a part of it',
      fix: 'use another tokenizer'
    })
  }
}

/** What the library cannot compute, such as a normalizer that it does not know. */
function unreadable(file: string, cause: unknown): ArbalestError {
  return corruptFile(file, { expected: 'a tokenizer of BPE', found: messageOf(cause).split('\n')[0]!, fix: ANOTHER, cause })
}

/** GPT-2's class of transformers takes from the config, not from tokenizer.json, whether a text gets a space before it. */
function asConfigured(preTokenizer: unknown, { tokenizer_class: type, add_prefix_space: adds }: CheckedTokenizer['config']): unknown {
  const isByteLevel = (Object(preTokenizer) as { readonly type?: unknown }).type === 'ByteLevel'
  const isSaid = typeof type === 'string' && /^GPT2Tokenizer(Fast)?$/.test(type) && typeof adds === 'boolean'
  return isByteLevel && isSaid ? { ...(preTokenizer as object), add_prefix_space: adds } : preTokenizer
}

/** Whether a text may be cut between a letter and a space before a letter: no token of a byte-level tokenizer crosses that, but for those that were added. */
function splitsAtSpaces(preTokenizer: unknown): boolean {
  const { type, use_regex: usesRegex = true } = Object(preTokenizer) as { readonly type?: unknown; readonly use_regex?: unknown }
  return type === 'ByteLevel' && usesRegex === true
}

function* piecesOf(text: string): Generator<string> {
  const cut = new RegExp(CUT, 'gu')
  let begin = 0
  while (text.length - begin > PIECE) {
    cut.lastIndex = begin + PIECE
    const found = cut.exec(text)
    if (!found) break
    const end = found.index + found[0].length
    yield text.slice(begin, end)
    begin = end
  }
  yield text.slice(begin)
}
