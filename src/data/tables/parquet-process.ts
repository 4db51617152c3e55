import type { FileHandle } from 'node:fs/promises'
import { parquetMetadataAsync, parquetRead, parquetSchema, type AsyncBuffer, type Compressors, type RowGroup } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { messageOf } from '../../errors.js'
import { openFile } from '../../node.js'
import { endWithParent } from '../../runtime/end-with-parent.js'

/** What the reader of a Parquet file asks its process for: its columns, or the cells of one in rows `begin` to `end`, which lie in one row group. */
export type ParquetRequest =
  { readonly file: string } | { readonly file: string; readonly column: string; readonly begin: number; readonly end: number }

/** The columns of a file and the rows of its row groups; or cells; or why there are none: what is wrong with the file, or what of it is too much to decode. */
export type ParquetAnswer =
  | { readonly names: readonly string[]; readonly groups: readonly number[] }
  | { readonly cells: readonly unknown[] }
  | { readonly fault: string }
  | { readonly excess: string }

/** Values of a column chunk, and bytes of a page when it is decompressed. */
const MOST_CELLS = 2 ** 24
const LARGEST_PAGE = 2 ** 28

/** Bytes at the end of a file that have the metadata. */
const LARGEST_METADATA = 2 ** 26

// The program of that process: it answers one request after the other, and ends with the process that asks.
endWithParent()
process.on('message', (request: ParquetRequest) => void read(request).then((made) => process.send!(made)))

/** What a file may have, and what is too much to decode. */
class Excess extends Error {}

/** Answers a request: an exception of any kind is a message. */
async function read(request: ParquetRequest): Promise<ParquetAnswer> {
  try {
    await using handle = await openFile(request.file)
    const { size } = await handle.stat()
    return await answer(request, bufferOf(handle, size))
  } catch (error) {
    const message = messageOf(error).split('\n')[0]!
    return error instanceof Excess ? { excess: message } : { fault: message }
  }
}

async function answer(request: ParquetRequest, buffer: AsyncBuffer): Promise<ParquetAnswer> {
  await checkTail(buffer)
  const metadata = await parquetMetadataAsync(buffer)
  const names = parquetSchema(metadata).children.map(({ element }) => element.name)
  if (names.length === 0) throw new Error('no columns')
  // A damaged schema has names that are numbers, or none.
  if (names.some((name: unknown) => typeof name !== 'string')) throw new Error('a column without a name')
  for (const group of metadata.row_groups) checkGroup(group, buffer.byteLength)
  if (!('column' in request)) return { names, groups: metadata.row_groups.map((group) => Number(group.num_rows)) }
  const { column, begin: rowStart, end: rowEnd } = request
  let cells: readonly unknown[] = []
  const onComplete = (rows: readonly (readonly unknown[])[]) => (cells = rows.map(([cell]) => withNumbers(cell)))
  await parquetRead({ file: buffer, metadata, columns: [column], rowStart, rowEnd, compressors: bounded(compressors), onComplete })
  return { cells }
}

/** A cell with its whole numbers as JSON Lines has them: Parquet has 64-bit ones, of which float64 holds most. */
function withNumbers(cell: unknown): unknown {
  if (typeof cell === 'bigint') return Number.isSafeInteger(Number(cell)) ? Number(cell) : cell
  if (Array.isArray(cell)) return cell.map(withNumbers)
  if (typeof cell !== 'object' || cell === null || Object.getPrototypeOf(cell) !== Object.prototype) return cell
  return Object.fromEntries(Object.entries(cell).map(([name, member]) => [name, withNumbers(member)]))
}

function bufferOf(handle: FileHandle, byteLength: number): AsyncBuffer {
  return {
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
}

/** The file ends with the metadata's length and a mark: a forged length must not be read. */
async function checkTail(buffer: AsyncBuffer): Promise<void> {
  if (buffer.byteLength < 12) throw new Error(`${buffer.byteLength} bytes`)
  const tail = await buffer.slice(buffer.byteLength - 8)
  const mark = Buffer.from(tail, 4).toString('latin1')
  if (mark === 'PARE') throw new Error('one whose metadata is encrypted')
  if (mark !== 'PAR1') throw new Error('one that does not end in PAR1: it is cut short, or of another format')
  const length = new DataView(tail).getUint32(0, true)
  if (length > Math.min(buffer.byteLength - 8, LARGEST_METADATA)) throw new Error(`metadata of ${length} bytes`)
}

function checkGroup({ num_rows: rows, columns }: RowGroup, bytes: number): void {
  if (!(rows >= 0n && rows <= 2n ** 31n)) throw new Error(`a row group of ${rows} rows`)
  for (const { meta_data: chunk } of columns) {
    if (!chunk) throw new Error('a column without metadata')
    const { total_compressed_size: size, num_values: values, path_in_schema: path } = chunk
    // The size counts the page with the different values of the column, which comes before those with its data.
    const begin = chunk.dictionary_page_offset || chunk.data_page_offset
    if (!(size >= 0n && begin >= 0n && begin + size <= BigInt(bytes))) throw new Error(`a column of ${size} bytes at ${begin}`)
    if (!(values >= 0n)) throw new Error(`a column of ${values} values`)
    // Lists have more values than there are rows.
    if (values > BigInt(MOST_CELLS))
      throw new Excess(`a row group has ${values} values of column ${JSON.stringify(path[0])}, and at most ${MOST_CELLS} are decoded`)
  }
}

/** A page that claims a forged size is not decompressed, nor one of no bytes: the decompressor of LZ4 refuses what stands for them. */
function bounded(all: Compressors): Compressors {
  const checked = Object.entries(all).map(([name, decompress]) => {
    const within: typeof decompress = (input, length) => {
      if (length > LARGEST_PAGE) throw new Error(`a page of ${length} bytes`)
      if (length === 0) return new Uint8Array()
      return decompress(input, length)
    }
    return [name, within]
  })
  return Object.fromEntries(checked) as Compressors
}
