import { stat } from 'node:fs/promises'
import { ArbalestError, messageOf } from '../../errors.js'
import { corruptFile, isDeniedByNode } from '../../formats/file-errors.js'
import { absolutePath } from '../../node.js'
import { checkRegularFile } from '../read-text.js'
import { MEGABYTES, ParquetDecoder, type NoAnswer } from './parquet-decoder.js'
import type { ParquetAnswer, ParquetRequest } from './parquet-process.js'
import type { ReadTableOptions, TableSink } from './row-block.js'

/** Cells of a block, which is held as a whole. */
const MOST_CELLS = 2 ** 24

/** A column that takes longer to decode is forged: its runs claim more values than it has. Long texts are few rows and many bytes. */
const MILLISECONDS = 10_000
const ROWS_A_MILLISECOND = 200
const BYTES_A_MILLISECOND = 1000

/**
 * Reads a Parquet file with its row groups as blocks, larger ones as several, decompressing snappy, gzip, zstd, brotli and lz4. Columns of lists and objects have cells of lists and objects.
 * It is decoded in a process with memory and time of its own, because a few damaged bytes can ask for any amount of both. Throws DATA_NOT_FOUND, DATA_CORRUPT, and OUT_OF_MEMORY for a
 * column of a row group that takes too much to decode. `mostCells` of a block is for tests.
 */
export async function readParquet(file: string, sink: TableSink, _: ReadTableOptions, mostCells = MOST_CELLS): Promise<void> {
  await checkRegularFile(file)
  const { size: bytes } = await stat(file)
  const opened = await ask({ file })
  if (!('names' in opened)) return
  const { names, groups } = opened
  sink.header(names)
  const mostRows = Math.max(1, Math.floor(mostCells / names.length))
  let begin = 0
  for (const rows of groups) {
    for (let done = 0; done < rows; done += mostRows) {
      const part = { begin: begin + done, end: begin + Math.min(rows, done + mostRows) }
      const columns: (readonly unknown[])[] = []
      for (const column of names) columns.push(await cellsOf({ file, column, ...part }, { rows, bytes }))
      await sink.block({ rows: part.end - part.begin, columns })
    }
    begin += rows
  }
}

/** The cells of a column in rows `begin` to `end`, which lie in one row group. */
async function cellsOf(request: Extract<ParquetRequest, { column: string }>, group: DecodedGroup): Promise<readonly unknown[]> {
  const { file, column, begin, end } = request
  const found = await ask(request, group)
  const cells = 'cells' in found ? found.cells : []
  if (cells.length === end - begin) return cells
  throw corruptFile(file, { where: `column ${JSON.stringify(column)}`, expected: `${end - begin} values`, found: String(cells.length) })
}

function tooLarge(file: string, what: string): ArbalestError {
  return new ArbalestError('OUT_OF_MEMORY', `${file}: ${what}; write the file with smaller row groups`, { data: { file } })
}

function withoutProcess(file: string, cause: unknown): ArbalestError {
  const message = `${file}: Parquet is read by a process of its own, and Node.js was told to allow none; start it with --allow-child-process beside --permission`
  return new ArbalestError('LIMIT_REACHED', message, { cause, data: { limit: 'processes', file } })
}

const decoder = new ParquetDecoder()

/** How much there is to decode: the rows of a row group, and the bytes of the file that has it. */
interface DecodedGroup {
  readonly rows: number
  readonly bytes: number
}

/** Throws DATA_CORRUPT for what is no Parquet or takes too long, OUT_OF_MEMORY, and LIMIT_REACHED where Node.js may start no process. */
async function ask(request: ParquetRequest, { rows, bytes }: DecodedGroup = { rows: 0, bytes: 0 }): Promise<ParquetAnswer> {
  const { file } = request
  const milliseconds = MILLISECONDS + Math.ceil(rows / ROWS_A_MILLISECOND + bytes / BYTES_A_MILLISECOND)
  const fault = (found: string, cause?: unknown, fix?: string) =>
    corruptFile(file, { expected: 'a Parquet file', found, cause, ...(fix !== undefined && { fix }) })
  let answer: ParquetAnswer
  try {
    // The decoder keeps the folder in which it was started.
    answer = await decoder.ask({ ...request, file: absolutePath(file) }, milliseconds)
  } catch (cause) {
    if (isDeniedByNode(cause)) throw withoutProcess(file, cause)
    const { reason } = cause as NoAnswer
    if (reason === 'memory') throw tooLarge(file, `a column takes more than ${MEGABYTES} MB to decode`)
    if (reason === 'time')
      throw fault(
        `a column that takes more than ${Math.round(milliseconds / 1000)} s to decode`,
        cause,
        'write the file with smaller row groups, or replace it with a complete copy'
      )
    throw fault(messageOf(cause), cause)
  }
  if ('fault' in answer) throw fault(answer.fault)
  if ('excess' in answer) throw tooLarge(file, answer.excess)
  return answer
}
