import { open } from 'node:fs/promises'
import type { AsyncBuffer, Compressors, FileMetaData, RowGroup } from 'hyparquet'
import { ArbalestError, messageOf } from '../../errors.js'
import { corruptFile, unreadableFile } from '../../formats/file-errors.js'
import { checkRegularFile } from '../read-text.js'
import type { ReadTableOptions, TableSink } from './row-block.js'

/** Cells of a row group, which is held as a whole while it is read; and bytes of a page when it is decompressed. */
const MOST_CELLS = 2 ** 25
const LARGEST_PAGE = 2 ** 28

/** Bytes at the end of a file that have the metadata and its length. */
const LARGEST_METADATA = 2 ** 26

/**
 * Reads a Parquet file with its row groups as blocks, decompressing snappy, gzip, zstd, brotli and lz4. Columns of lists and objects have cells of lists and objects. Throws
 * DATA_NOT_FOUND, DATA_CORRUPT, and OUT_OF_MEMORY for row groups of more than 33 million cells.
 */
export async function readParquet(file: string, sink: TableSink, _: ReadTableOptions): Promise<void> {
  await checkRegularFile(file)
  const [parquet, { compressors }] = await Promise.all([import('hyparquet'), import('hyparquet-compressors')])
  const fault = (cause: unknown) => corruptFile(file, { expected: 'a Parquet file', found: messageOf(cause).split('\n')[0]!, cause })
  await using source = await bufferOf(file)
  const { buffer } = source
  let metadata: FileMetaData
  let names: string[]
  try {
    await checkTail(buffer)
    metadata = await parquet.parquetMetadataAsync(buffer)
    names = parquet.parquetSchema(metadata).children.map(({ element }) => element.name)
    if (names.length === 0) throw new Error('no columns')
    for (const group of metadata.row_groups) checkGroup(group, buffer.byteLength)
  } catch (cause) {
    throw fault(cause)
  }
  sink.header(names)
  let begin = 0
  for (const group of metadata.row_groups) {
    const rows = Number(group.num_rows)
    if (rows === 0) continue
    if (rows * names.length > MOST_CELLS)
      throw new ArbalestError(
        'OUT_OF_MEMORY',
        `${file}: a row group has ${rows} rows of ${names.length} columns, more than ${MOST_CELLS} cells; write the file with smaller row groups`,
        { data: { file, rows, columns: names.length } }
      )
    const columns: (readonly unknown[])[] = []
    for (const name of names) {
      const range = { rowStart: begin, rowEnd: begin + rows }
      let cells: readonly unknown[] = []
      const onComplete = (read: readonly (readonly unknown[])[]) => (cells = read.map(([cell]) => cell))
      try {
        await parquet.parquetRead({ file: buffer, metadata, columns: [name], ...range, compressors: bounded(compressors), onComplete })
      } catch (cause) {
        throw fault(cause)
      }
      if (cells.length !== rows) throw fault(new Error(`column ${JSON.stringify(name)} with ${cells.length} of ${rows} values`))
      columns.push(cells)
    }
    begin += rows
    await sink.block({ rows, columns })
  }
}

/** The metadata's length is the word before the last: a forged one must not be read. */
async function checkTail(buffer: AsyncBuffer): Promise<void> {
  if (buffer.byteLength < 12) throw new Error(`${buffer.byteLength} bytes`)
  const tail = new DataView(await buffer.slice(buffer.byteLength - 8))
  const length = tail.getUint32(0, true)
  if (length > Math.min(buffer.byteLength - 8, LARGEST_METADATA)) throw new Error(`metadata of ${length} bytes`)
}

/** A column chunk lies in the file; a value takes a bit at least, unless it repeats. */
function checkGroup({ num_rows: rows, columns }: RowGroup, bytes: number): void {
  if (!(rows >= 0n && rows <= 2n ** 31n)) throw new Error(`a row group of ${rows} rows`)
  for (const { meta_data: chunk } of columns) {
    if (!chunk) throw new Error('a column without metadata')
    const { total_compressed_size: size, data_page_offset: offset, num_values: values } = chunk
    if (!(size >= 0n && offset >= 0n && offset + size <= BigInt(bytes))) throw new Error(`a column of ${size} bytes at ${offset}`)
    if (!(values >= 0n && values <= BigInt(MOST_CELLS))) throw new Error(`a column of ${values} values`)
  }
}

/** A page that claims a forged size is not decompressed. */
function bounded(compressors: Compressors): Compressors {
  const checked = Object.entries(compressors).map(([name, decompress]) => {
    const within: typeof decompress = (input, length) => {
      if (length > LARGEST_PAGE) throw new Error(`a page of ${length} bytes`)
      return decompress(input, length)
    }
    return [name, within]
  })
  return Object.fromEntries(checked) as Compressors
}

async function bufferOf(file: string): Promise<{ readonly buffer: AsyncBuffer } & AsyncDisposable> {
  const handle = await open(file).catch((cause: unknown) => {
    throw unreadableFile(file, cause)
  })
  const { size: byteLength } = await handle.stat()
  const buffer: AsyncBuffer = {
    byteLength,
    async slice(start, end = byteLength) {
      const [from, until] = [Math.max(0, start), Math.min(end, byteLength)]
      if (!(until >= from)) throw new Error(`bytes ${start} to ${end} of ${byteLength}`)
      const bytes = new Uint8Array(until - from)
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, from)
      if (bytesRead < bytes.length) throw new Error('the end of the file in a column')
      return bytes.buffer
    }
  }
  return { buffer, [Symbol.asyncDispose]: () => handle.close() }
}
