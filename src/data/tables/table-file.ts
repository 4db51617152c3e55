import { extname } from 'node:path'
import { corruptFile } from '../../formats/file-errors.js'
import { check } from '../../schema/faults.js'
import { kind } from '../../schema/values.js'
import type { ReadTableOptions, TableSink } from './row-block.js'
import { readTableOptions, tablePath } from './table-options.js'

type ReadTable = (file: string, sink: TableSink, options: ReadTableOptions) => Promise<void>

const readCsv: ReadTable = async (...table) => (await import('./csv.js')).readCsv(...table)
const readJsonLines: ReadTable = async (...table) => (await import('./json-lines.js')).readJsonLines(...table)
const readParquet: ReadTable = async (...table) => (await import('./parquet.js')).readParquet(...table)

/** By extension. Each loads its format when it is called. */
const READERS: Readonly<Record<string, ReadTable>> = {
  '.csv': readCsv,
  '.tsv': (file, sink, { delimiter = '\t' }) => readCsv(file, sink, { delimiter }),
  '.jsonl': readJsonLines,
  '.ndjson': readJsonLines,
  '.parquet': readParquet
}

/** The extensions of tables. */
export const tableExtensions: readonly string[] = Object.keys(READERS)

/** Whether a path is that of a table, by its extension. */
export function isTablePath(path: string): boolean {
  return typeof path === 'string' && Object.hasOwn(READERS, extname(path).toLowerCase())
}

const tableSink = kind<TableSink>((value) => {
  const { header, block } = Object(value) as Partial<Record<keyof TableSink, unknown>>
  return typeof header === 'function' && typeof block === 'function'
}, 'an object with the functions header and block')

/** Reads a table block by block. Throws DATA_NOT_FOUND, DATA_CORRUPT, INVALID_OPTION and what the sink throws. */
export async function readTable(file: string, sink: TableSink, options: ReadTableOptions = {}): Promise<void> {
  check(tablePath, file, { path: 'file' })
  check(tableSink, sink, { path: 'sink' })
  check(readTableOptions, options)
  const read = READERS[extname(file).toLowerCase()]
  if (!read)
    throw corruptFile(file, {
      expected: `a table (${tableExtensions.join(' ')})`,
      found: extname(file),
      fix: 'unpack it, or give it its extension'
    })
  const { checkHeader, withoutHeader } = await import('./table-header.js')
  let hasHeader = false
  const checked: TableSink = {
    header(columns) {
      hasHeader = true
      checkHeader(file, columns)
      sink.header(columns)
    },
    block: (block) => sink.block(block)
  }
  await read(file, checked, options)
  if (!hasHeader) throw withoutHeader(file)
}
