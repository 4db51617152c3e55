import { pipeline } from 'node:stream/promises'
import type { CsvError, Options, Parser } from 'csv-parse'
import type { ArbalestError } from '../../errors.js'
import { corruptFile } from '../../formats/file-errors.js'
import { checkRegularFile, textIn } from '../read-text.js'
import { BlockBuilder } from './block-builder.js'
import { CsvHeader, type CsvRecord } from './csv-header.js'
import type { ReadTableOptions, TableSink } from './row-block.js'

/** The longest row, in bytes: a quote that is never closed must not take the whole file into memory. */
const LONGEST_ROW = 2 ** 24

const DELIMITERS = [',', ';', '\t', '|']

/** All of them in one file: joined files end their lines in different ways. The parser would go by the first line alone. */
const LINE_ENDS = ['\r\n', '\n', '\r']

/**
 * Reads CSV as RFC 4180 has it, in UTF-8 with or without a byte order mark: the names of the columns in the first row, quotes around cells that need them. Skips empty lines and
 * rows without any value. Throws INVALID_OPTION, DATA_NOT_FOUND, and DATA_CORRUPT with the line for rows of different lengths, faulty quotes, huge rows, other encodings and a file without rows.
 */
export async function readCsv(file: string, sink: TableSink, { delimiter }: ReadTableOptions): Promise<void> {
  await checkRegularFile(file)
  const { parse, CsvError } = await import('csv-parse')
  const chosen = delimiter ?? (await delimiterOf(file))
  const options = {
    delimiter: chosen,
    record_delimiter: LINE_ENDS,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: LONGEST_ROW,
    trim: false
  }
  let header: CsvHeader | undefined
  let builder: BlockBuilder | undefined
  try {
    await pipeline(checkedText(file), withLines(parse, options), async (records: AsyncIterable<CsvRecord>) => {
      for await (const record of records) {
        if (header && builder) {
          const cells = header.cellsOf(record)
          const block = cells && builder.add(cells, record.line)
          if (block) await sink.block(block)
          continue
        }
        header = new CsvHeader(file, record, chosen)
        sink.header(header.names)
        builder = new BlockBuilder(header.names.length)
      }
    })
  } catch (cause) {
    throw cause instanceof CsvError ? csvFault(file, cause) : cause
  }
  const rest = builder?.rest()
  if (rest) await sink.block(rest)
}

/** A parser of records with the lines in which they end. Its own option for that copies all its figures for each record, which doubles its time. */
function withLines(parse: (options: Options) => Parser, options: Options): Parser {
  const parser = parse(options)
  const push = parser.push.bind(parser)
  parser.push = (cells: readonly string[] | null) => push(cells && ({ cells, line: parser.info.lines } satisfies CsvRecord))
  return parser
}

async function* checkedText(file: string): AsyncGenerator<string, void> {
  for await (const piece of textIn(file)) {
    if (piece.includes('\0')) throw corruptFile(file, { expected: 'text in UTF-8', found: 'a zero character', fix: 'convert it to UTF-8' })
    yield piece
  }
}

/** The delimiter that the first line has most, outside of quotes. */
async function delimiterOf(file: string): Promise<string> {
  for await (const piece of textIn(file)) {
    const line = piece
      .replace(/^\s+/, '')
      .slice(0, 2 ** 16)
      .replaceAll(/"[^"]*"/g, '')
      .split(/[\r\n]/, 1)[0]!
    const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length)
    return DELIMITERS[counts.indexOf(Math.max(...counts))]!
  }
  return ','
}

function csvFault(file: string, cause: CsvError): ArbalestError {
  const { code, lines } = cause as CsvError & { readonly lines?: number }
  const fault = (expected: string, found: string, fix: string): ArbalestError =>
    corruptFile(file, { where: `line ${lines}`, expected, found, fix, cause })
  if (code === 'CSV_MAX_RECORD_SIZE')
    return fault(`a row of at most ${LONGEST_ROW} bytes`, 'a longer one', 'look for a double quote that is never closed')
  if (code === 'CSV_QUOTE_NOT_CLOSED') return fault('a closing double quote', 'the end of the file', 'close the quote')
  return fault('quotes around a whole cell', 'a double quote elsewhere', 'write a double quote in a cell twice, and quotes around the cell')
}
