import { stat, type FileHandle } from 'node:fs/promises'
import { basename } from 'node:path'
import { ArbalestError, invalidOption, shown } from '../../errors.js'
import type { TextEncoding } from '../../formats/encoding.js'
import { corruptFile, unreadableFile } from '../../formats/file-errors.js'
import { tokenizerFilesOf, type TokenizerFiles } from '../../formats/tokenizer/tokenizer-files.js'
import { Tokenizer } from '../../formats/tokenizer/tokenizer.js'
import { NO_AUGMENTATION } from '../../model/augmentation.js'
import { openFile } from '../../node.js'
import { check } from '../../schema/faults.js'
import type { CheckedOptions } from '../../schema/group.js'
import type { StoredDataset } from '../dataset.js'
import { filesOf, type Classes } from '../class-folders.js'
import { TEXT_FILES } from '../file-kinds.js'
import { allocate, checkFree } from '../checks.js'
import { plainText } from '../tables/cell.js'
import { checkColumns, noRows } from '../tables/column-names.js'
import { ColumnBuilder } from '../tables/column.js'
import type { ColumnReport } from '../tables/fit.js'
import { readTable } from '../tables/table-file.js'
import { targetOf, type Target, type TargetRequest } from '../tables/target.js'
import { textsOptions, type TextsOptions } from './texts-options.js'
import { CHARACTERS_PER_TOKEN, textTokensOf, tokenValues } from './text-tokens.js'
import { TokenRows } from './token-rows.js'

/** A data set of texts, each with a class or a number. */
export interface TextsDataset extends StoredDataset {
  readonly encoding: TextEncoding
  readonly columns?: readonly ColumnReport[]
}

/** As `datasetFromTexts`; `path` precedes the names of its options in errors, and a folder of fewer classes than `leastClasses` is refused. */
export async function openTexts(given: TextsOptions, path = '', leastClasses = 2): Promise<TextsDataset> {
  const options = check(textsOptions, given)
  const { file } = options
  const found = await stat(file).catch((cause: unknown) => {
    throw unreadableFile(file, cause)
  })
  return found.isDirectory() ? fromFolder(options, path, leastClasses) : fromTable(options, path)
}

type Checked = CheckedOptions<typeof textsOptions>

async function fromTable(
  { file, name = basename(file), length, tokenizer, text, target, ...options }: Checked,
  path: string
): Promise<TextsDataset> {
  if (text === undefined) throw invalidOption(`${path}text`, undefined, 'name the column of the texts')
  if (target === undefined) throw invalidOption(`${path}target`, undefined, 'name the column that is predicted')
  if (text === target) throw invalidOption(`${path}text`, text, 'it is the target, too: name another column')
  const tokens = tokenEncoding(tokenizer)
  const rows = new TokenRows(length, textTokensOf(tokens))
  const targets = new ColumnBuilder(target)
  let columnNames: readonly string[] = []
  let places = { text: 0, target: 0 }
  let empty = 0
  await readTable(
    file,
    {
      header(names) {
        columnNames = names
        checkColumns(file, names, { text: [text], target: [target] }, path)
        places = { text: names.indexOf(text), target: names.indexOf(target) }
      },
      block({ columns, lines }) {
        for (const cell of columns[places.text]!) {
          const words = plainText(cell) ?? ''
          if (words === '') empty++
          rows.add(words)
        }
        for (const [row, cell] of columns[places.target]!.entries()) targets.add(cell, lines?.[row])
      }
    },
    { delimiter: options.delimiter }
  )
  if (rows.count === 0) throw corruptFile(file, noRows(columnNames))
  if (empty === rows.count)
    throw corruptFile(file, { where: `column ${shown(text)}`, expected: 'texts', found: 'no text in any row', fix: 'name another column' })
  const column = targets.column()
  const found = targetOf(column, { file, path, ...options } satisfies TargetRequest)
  const values = found.classNames && { values: found.classNames.length }
  return {
    ...parts(rows, found, { name, tokens, column: text }),
    columns: [
      { name: text, kind: 'text', missing: empty, features: length },
      { name: target, kind: 'target', missing: 0, features: 0, ...values, reason: found.reason }
    ]
  }
}

async function fromFolder(
  { file: folder, name = basename(folder), length, tokenizer, testFraction, seed, ...ofTable }: Checked,
  path: string,
  leastClasses: number
): Promise<TextsDataset> {
  for (const [option, value] of Object.entries(ofTable))
    if (value !== undefined) throw invalidOption(`${path}${option}`, value, 'leave it out: the folders are the classes of its texts')
  const split = await filesOf(folder, TEXT_FILES, { fraction: testFraction, seed, leastClasses })
  const tokens = tokenEncoding(tokenizer)
  const rows = new TokenRows(length, textTokensOf(tokens))
  const bytes = tokenizer === undefined ? length : MOST_BYTES * CHARACTERS_PER_TOKEN * length
  const labels: number[] = []
  const add = async (classes: Classes) => {
    const first = rows.count
    for (const [each, files] of classes)
      for (const file of files) {
        rows.add(await beginningOf(file, bytes))
        labels.push(split.classNames.indexOf(each))
      }
    return Int32Array.from({ length: rows.count - first }, (_, i) => first + i)
  }
  const [train, test] = [await add(split.train), await add(split.test)]
  const all = { classNames: split.classNames, labels: Int32Array.from(labels), train, test }
  return parts(
    rows,
    { ...all, encoding: { kind: 'classes', name: 'class' }, reason: `${split.classNames.length} classes` },
    { name, tokens }
  )
}

function parts(rows: TokenRows, target: Target, { name, tokens, column }: TextsOrigin): TextsDataset {
  const { classNames } = target
  checkFree(4 * rows.length * rows.count, `${name}: ${rows.count} texts of ${rows.length} tokens`)
  const part = (chosen: Int32Array) => {
    const samples = rows.samples(chosen)
    return target.targets
      ? { ...samples, target: [1], targets: Float32Array.from(chosen, (row) => target.targets[row]!) }
      : { ...samples, labels: Int32Array.from(chosen, (row) => target.labels[row]!), classes: target.classNames.length }
  }
  return {
    name,
    sample: [rows.length],
    classes: classNames?.length ?? 0,
    ...(classNames && { classNames }),
    train: part(target.train),
    test: part(target.test),
    mean: [],
    std: [],
    augmentation: NO_AUGMENTATION,
    encoding: { ...tokens, ...(column !== undefined && { column }), length: rows.length, target: target.encoding }
  }
}

interface TextsOrigin {
  readonly name: string
  readonly tokens: Pick<TextEncoding, 'kind' | 'tokenizer' | 'tokens'>
  readonly column?: string
}

/** Throws INVALID_OPTION, DATA_NOT_FOUND, DATA_CORRUPT for a tokenizer that is none. */
function tokenEncoding(given: string | TokenizerFiles | undefined): TextsOrigin['tokens'] {
  if (given === undefined) return { kind: 'bytes' }
  const tokenizer = typeof given === 'string' ? tokenizerFilesOf(given, 'tokenizer') : given
  return { kind: 'tokens', tokenizer, tokens: tokenValues(Tokenizer.of(tokenizer, typeof given === 'string' ? given : 'tokenizer')) }
}

/** Of a character in UTF-8. */
const MOST_BYTES = 4

/**
 * The first bytes of a text file behind the blanks at its beginning, without a character that they cut. Throws DATA_NOT_FOUND, DATA_CORRUPT for other bytes than UTF-8.
 */
async function beginningOf(file: string, length: number): Promise<string> {
  const bytes = allocate(length + 3, file)
  try {
    await using handle = await openFile(file)
    for (let at = 0; ;) {
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, at)
      const isEnd = bytesRead < bytes.length
      // The mark at the beginning counts among the blanks, so that the bytes of the text are those of the file.
      const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
      const text = decoder.decode(bytes.subarray(0, bytesRead), { stream: !isEnd })
      const blanks = text.slice(0, text.length - text.trimStart().length)
      if (isEnd) return text.trim()
      if (blanks === '') return /\s$/.test(text) && (await isBlankFrom(handle, at + Buffer.byteLength(text))) ? text.trim() : text
      at += Buffer.byteLength(blanks)
    }
  } catch (cause) {
    if (cause instanceof ArbalestError) throw cause
    if (cause instanceof TypeError)
      throw corruptFile(file, { expected: 'text in UTF-8', found: 'other bytes', fix: 'convert it to UTF-8', cause })
    throw unreadableFile(file, cause)
  }
}

/** Whether a file has only blanks from this byte on. */
async function isBlankFrom(handle: FileHandle, from: number): Promise<boolean> {
  const bytes = new Uint8Array(2 ** 12)
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  for (let at = from; ;) {
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, at)
    if (decoder.decode(bytes.subarray(0, bytesRead), { stream: bytesRead > 0 }).trim() !== '') return false
    if (bytesRead === 0) return true
    at += bytesRead
  }
}
