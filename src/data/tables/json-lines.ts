import { shown } from '../../errors.js'
import { corruptFile } from '../../formats/file-errors.js'
import { checkRegularFile, textIn } from '../read-text.js'
import { BlockBuilder } from './block-builder.js'
import type { ReadTableOptions, TableSink } from './row-block.js'

/** The longest line, in characters. */
const LONGEST_LINE = 2 ** 24

/**
 * Reads JSON Lines: an object a line, whose keys are columns. The first object has all keys; a later one may lack some, whose cells are then missing. Throws
 * DATA_NOT_FOUND, and DATA_CORRUPT with the line.
 */
export async function readJsonLines(file: string, sink: TableSink, _: ReadTableOptions): Promise<void> {
  await checkRegularFile(file)
  let header: readonly string[] | undefined
  let known = new Set<string>()
  let builder: BlockBuilder | undefined
  for await (const { text, line } of linesOf(file)) {
    const row = objectIn(text, file, line)
    if (!builder) {
      header = Object.keys(row)
      known = new Set(header)
      if (header.length === 0) throw corruptFile(file, { where: `line ${line}`, expected: 'an object with keys', found: '{}' })
      sink.header(header)
      builder = new BlockBuilder(header.length)
    }
    const stray = Object.keys(row).find((key) => !known.has(key))
    if (stray !== undefined)
      throw corruptFile(file, {
        where: `line ${line}`,
        expected: 'the keys of the first line',
        found: shown(stray),
        fix: 'give every key in the first line, null where it has no value'
      })
    const cells = header!.map((key) => (Object.hasOwn(row, key) ? row[key] : null))
    const block = builder.add(cells, line)
    if (block) await sink.block(block)
  }
  const rest = builder?.rest()
  if (rest) await sink.block(rest)
}

async function* linesOf(file: string): AsyncGenerator<{ readonly text: string; readonly line: number }, void> {
  let begun = ''
  let line = 0
  for await (const piece of textIn(file)) {
    const lines = (begun + piece).split('\n')
    begun = lines.pop()!
    for (const text of lines) {
      line++
      if (text.trim() !== '') yield { text, line }
    }
    if (begun.length > LONGEST_LINE)
      throw corruptFile(file, {
        where: `line ${line + 1}`,
        expected: `at most ${LONGEST_LINE} characters`,
        found: 'more',
        fix: 'write one object a line'
      })
  }
  if (begun.trim() !== '') yield { text: begun, line: line + 1 }
}

/** The begin of a string, a number, or what Python writes for a number that is none. */
const QUOTE_OR_NUMBER = /"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|NaN|-?Infinity/g
const LONG = /^-?[1-9]\d{15,}$/

/**
 * The same row as JSON that keeps all of it: whole numbers that float64 does not hold as strings, as CSV has them, because of two ids that differ in their last digits one number would
 * become; NaN as null, and Infinity as a string, of which JSON has none.
 */
function exactJson(text: string): string {
  if (!/\d{16}|NaN|Infinity/.test(text)) return text
  let exact = ''
  let copied = 0
  QUOTE_OR_NUMBER.lastIndex = 0
  for (let found = QUOTE_OR_NUMBER.exec(text); found; found = QUOTE_OR_NUMBER.exec(text)) {
    const [token] = found
    const other = token === '"' ? undefined : exactToken(token)
    if (token === '"') QUOTE_OR_NUMBER.lastIndex = endOfString(text, found.index)
    if (other === undefined) continue
    exact += text.slice(copied, found.index) + other
    copied = found.index + token.length
  }
  return exact + text.slice(copied)
}

/** undefined for a number that JSON.parse reads as it is. */
function exactToken(token: string): string | undefined {
  if (token === 'NaN') return 'null'
  const isExact = /^-?\d/.test(token) && (!LONG.test(token) || Number.isSafeInteger(Number(token)))
  return isExact ? undefined : `"${token}"`
}

/** Behind the quote that ends the string that begins at `begin`. Not by a pattern: the stack of one does not hold a string of some megabytes. */
function endOfString(text: string, begin: number): number {
  for (let at = begin + 1; at < text.length; at++)
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at + 1
  return text.length
}

function objectIn(text: string, file: string, line: number): Readonly<Record<string, unknown>> {
  const fault = (found: string, cause?: unknown) =>
    corruptFile(file, { where: `line ${line}`, expected: 'a JSON object', found, fix: 'write one object a line', cause })
  let value: unknown
  try {
    value = JSON.parse(exactJson(text))
  } catch (cause) {
    throw fault('text that is no JSON', cause)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fault(shown(value))
  return value as Readonly<Record<string, unknown>>
}
