import { basename } from 'node:path'
import type { DatasetSpec } from '../engine/contract.js'
import { ArbalestError, invalidOption, shown } from '../errors.js'
import { corruptFile } from '../formats/file-errors.js'
import { tokenizerFilesOf, type TokenizerFiles } from '../formats/tokenizer/tokenizer-files.js'
import { Tokenizer } from '../formats/tokenizer/tokenizer.js'
import { NO_AUGMENTATION } from '../model/augmentation.js'
import { check } from '../schema/faults.js'
import { group, option } from '../schema/group.js'
import { real, text as notEmpty, whole } from '../schema/values.js'
import { tokenise, type TokenisedText } from './characters.js'
import type { StoredDataset } from './dataset.js'
import { checkRegularFile, textIn } from './read-text.js'
import { tokensOf } from './tokens-of-text.js'
import { tokenizerPath } from './open-options.js'

/** A text and how it becomes samples. */
export interface TextDatasetOptions {
  /** The text itself, unless `file` is given. */
  readonly text?: string
  /** The path of a text file in UTF-8. */
  readonly file?: string
  /** The file's name, or `text`, if omitted. */
  readonly name?: string
  /** Characters of a window, the context of the model; 128 if omitted. */
  readonly context?: number
  /** The folder of a tokenizer (tokenizer.json, or vocab.json and merges.txt), or a tokenizer.json: its tokens instead of characters. */
  readonly tokenizer?: string | TokenizerFiles
  /** Tokens that the model has; as many as the tokenizer if omitted. */
  readonly vocabulary?: number
  /** The fraction of the text, taken from its end, that becomes the test set: between 0 and 1, 0.1 if omitted. */
  readonly testFraction?: number
}

const textOptions = group({
  text: option(notEmpty('a text that is not empty')),
  file: option(notEmpty('the path of a text')),
  name: option(notEmpty('a word or two')),
  context: option(whole({ min: 1, max: 2 ** 20, unit: 'characters' }), { default: 128 }),
  tokenizer: option(tokenizerPath),
  vocabulary: option(whole({ min: 2, max: 2 ** 21, unit: 'tokens' })),
  testFraction: option(real({ above: 0, below: 1 }), { default: 0.1 })
})

/** As `datasetFromText`. */
export async function openText(options: TextDatasetOptions): Promise<StoredDataset> {
  const { text, file, context, testFraction, tokenizer, vocabulary: wanted, ...others } = check(textOptions, options)
  const { name = file === undefined ? 'text' : basename(file) } = others
  if (text === undefined && file === undefined) throw invalidOption('text', text, 'give a text, or a file')
  if (text !== undefined && file !== undefined) throw invalidOption('file', file, 'leave it out: text is given')
  if (file !== undefined) await checkRegularFile(file)
  const read = () => (text === undefined ? textIn(file!) : [text])
  const by = tokenizer === undefined ? undefined : tokenizerOf(tokenizer)
  const { vocabulary, tokens } = by
    ? { vocabulary: undefined, tokens: await tokensOf(name, read(), by) }
    : await characters(name, file, read)
  if (by && wanted !== undefined) checkKnown(tokens, by, wanted)
  const test = Math.round(tokens.length * testFraction)
  if (Math.min(test, tokens.length - test) <= context)
    throw invalidOption(
      'context',
      context,
      `the text has ${tokens.length} ${by ? 'tokens' : 'characters'}, ${test} of them for testing: use a smaller context or a longer text`
    )
  if (vocabulary && vocabulary.length < 2) throw invalidOption('text', vocabulary[0], 'use a text with at least two different characters')
  const classes = vocabulary?.length ?? wanted ?? by!.size
  return {
    name,
    sample: [context],
    classes,
    ...(vocabulary && { classNames: vocabulary }),
    ...(by && { encoding: { kind: 'language', tokenizer: by.files, vocabulary: classes, length: context } }),
    train: windows(tokens.subarray(0, tokens.length - test), context, classes),
    test: windows(tokens.subarray(tokens.length - test), context, classes),
    mean: [],
    std: [],
    augmentation: NO_AUGMENTATION
  }
}

/** Throws INVALID_OPTION, DATA_NOT_FOUND, DATA_CORRUPT. */
function tokenizerOf(given: string | TokenizerFiles): Tokenizer {
  return typeof given === 'string' ? Tokenizer.of(tokenizerFilesOf(given, 'tokenizer'), given) : Tokenizer.of(given, 'tokenizer')
}

/** A tokenizer may have tokens that its model lacks, such as one for padding that was added later: only a text must not have them. Throws SHAPE_MISMATCH. */
function checkKnown(tokens: Int32Array, tokenizer: Tokenizer, vocabulary: number): void {
  const unknown = tokens.find((token) => token >= vocabulary)
  if (unknown === undefined) return
  throw new ArbalestError(
    'SHAPE_MISMATCH',
    `tokenizer: the text has its token ${unknown} (${shown(tokenizer.decode([unknown]))}), and the model has ${vocabulary} tokens; use the model's own tokenizer, or a text without that token`,
    { data: { token: unknown, tokens: tokenizer.size, vocabulary } }
  )
}

async function characters(
  name: string,
  file: string | undefined,
  read: () => AsyncIterable<string> | Iterable<string>
): Promise<TokenisedText> {
  const tokenised = await tokenise(name, read)
  if (tokenised) return tokenised
  throw corruptFile(file ?? name, { expected: 'a text that does not change while it is read', found: 'a change', fix: 'try again' })
}

/** Consecutive windows, as many as have a next character for each of their characters. */
function windows(samples: Int32Array, context: number, classes: number): DatasetSpec {
  return { count: Math.floor((samples.length - 1) / context), sample: [context], samples, stride: context, classes }
}
