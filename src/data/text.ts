import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { DatasetSpec } from '../engine/contract.js'
import { ArbalestError, invalidOption, messageOf } from '../errors.js'
import { charactersOf } from './characters.js'
import type { StoredDataset } from './dataset.js'
import { corrupt } from './faults.js'

/** A text and the windows that are cut from it. */
export interface TextDatasetOptions {
  /** The text itself, or `file`. */
  readonly text?: string
  /** The path of a file in UTF-8. */
  readonly file?: string
  /** The file's name, or `text`, if left out. */
  readonly name?: string
  /** Characters of a window: what a model sees at once. 128 if left out. */
  readonly context?: number
  /** The part at the text's end that the trained model is measured on: between 0 and 1, 0.1 if left out. */
  readonly testFraction?: number
}

const CONTEXT = 128
/** Bytes read at once. */
const CHUNK = 1 << 20

/**
 * A Dataset of a text whose characters are the tokens: its samples are windows of `context` characters, side by side, and the target of each
 * character is the next one. Every epoch cuts the text at other places. `classNames` has the characters by their token, in Unicode's order.
 *
 * Throws INVALID_OPTION, DATA_NOT_FOUND where there is no such file, DATA_CORRUPT where it is not UTF-8.
 */
export async function datasetFromText(options: TextDatasetOptions): Promise<StoredDataset> {
  const { text, file, context = CONTEXT, testFraction = 0.1 } = options
  if (!Number.isSafeInteger(context) || context < 1 || context > 2 ** 20)
    throw invalidOption('context', context, 'use a whole number of characters, from 1 to 1048576')
  if (!(testFraction > 0 && testFraction < 1)) throw invalidOption('testFraction', testFraction, 'use a number between 0 and 1')
  if ((text === undefined) === (file === undefined))
    throw invalidOption('text', text === undefined ? 'neither text nor file' : 'text and file', 'give one of the two')
  const name = options.name ?? (file === undefined ? 'text' : basename(file))
  if (file !== undefined) await checkFile(file)
  const characters = await charactersOf(name, () => (text === undefined ? textIn(file!) : [text]))
  if (!characters) throw corrupt(file ?? name, 'the same text from beginning to end', 'that it was being written', { mend: 'try again' })
  const { vocabulary, tokens } = characters
  const test = Math.round(tokens.length * testFraction)
  if (Math.min(test, tokens.length - test) <= context)
    throw invalidOption(
      'context',
      context,
      `the text has ${tokens.length} characters, ${test} of them held out: use fewer or a longer text`
    )
  if (vocabulary.length < 2) throw invalidOption('text', vocabulary[0], 'use a text of at least two different characters')
  const classes = vocabulary.length
  return {
    name,
    sample: [context],
    classes,
    classNames: vocabulary,
    train: windows(tokens.subarray(0, tokens.length - test), context, classes),
    test: windows(tokens.subarray(tokens.length - test), context, classes),
    mean: [],
    deviation: [],
    augmentation: { padding: 0, flip: false }
  }
}

/** As many windows as lie side by side with a next character for each of their own. */
function windows(samples: Int32Array, context: number, classes: number): DatasetSpec {
  return { count: Math.floor((samples.length - 1) / context), sample: [context], samples, stride: context, classes }
}

/** Opening a pipe would wait for its writer, and a device has no end; besides, a text is read twice. */
async function checkFile(file: string): Promise<void> {
  if (typeof file !== 'string' || file === '') throw invalidOption('file', file, 'give the path of a text')
  const found = await stat(file).catch((cause: unknown) => {
    throw unreadable(file, cause)
  })
  if (!found.isFile()) throw unreadable(file, new Error('not a file'))
}

async function* textIn(file: string): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decoded = (bytes?: Uint8Array): string => {
    try {
      return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode()
    } catch (cause) {
      throw corrupt(file, 'text in UTF-8', 'other bytes', { cause, mend: 'convert it to UTF-8' })
    }
  }
  const stream = createReadStream(file, { highWaterMark: CHUNK })
  try {
    for await (const bytes of stream) yield decoded(bytes as Uint8Array)
  } catch (cause) {
    throw cause instanceof ArbalestError ? cause : unreadable(file, cause)
  }
  yield decoded()
}

function unreadable(file: string, cause: unknown): ArbalestError {
  const message = `${file}: it cannot be read (${messageOf(cause)}); give the path of a text`
  return new ArbalestError('DATA_NOT_FOUND', message, { cause, data: { file } })
}
