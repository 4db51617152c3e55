import { open, stat, type FileHandle } from 'node:fs/promises'
import { ArbalestError, invalidOption, shown } from '../errors.js'
import { ELEMENT_TYPES, elementTypeOf, type ElementTypeName } from './element-types.js'
import { corruptFile, unreadableFile } from './faults.js'
import { replaceFile, writeAll } from './replace-file.js'
import { METADATA, parseHeader, type SafetensorsHeader, type TensorEntry } from './safetensors-header.js'
import { checkTensor, type Tensor } from './tensor.js'

export type { SafetensorsHeader, TensorEntry } from './safetensors-header.js'

/** The longest header in bytes, as in the format's reference implementation. */
const LONGEST_HEADER = 100_000_000

/** The header's length, a little-endian 64-bit number, comes first. */
const LENGTH_BYTES = 8

/**
 * An open safetensors file (https://github.com/huggingface/safetensors): its header is checked whole, its tensors are read one by one.
 * A file costs no more memory than it has bytes, whatever its header says.
 */
export class SafetensorsFile implements SafetensorsHeader, AsyncDisposable {
  readonly path: string
  readonly metadata: Readonly<Record<string, string>>
  readonly tensors: ReadonlyMap<string, TensorEntry>
  readonly #handle: FileHandle
  readonly #dataStart: number

  private constructor(path: string, handle: FileHandle, header: SafetensorsHeader, dataStart: number) {
    this.path = path
    this.metadata = header.metadata
    this.tensors = header.tensors
    this.#handle = handle
    this.#dataStart = dataStart
  }

  /** Throws DATA_NOT_FOUND where the file cannot be read, and DATA_CORRUPT. */
  static async open(path: string): Promise<SafetensorsFile> {
    const handle = await openFile(path)
    try {
      const { size } = await handle.stat()
      if (size < LENGTH_BYTES) throw corruptFile(path, 'header', `a file of ${size} bytes`, `a length of ${LENGTH_BYTES} bytes`)
      const length = new DataView(await readAt(handle, path, 0, LENGTH_BYTES)).getBigUint64(0, true)
      const most = Math.min(LONGEST_HEADER, size - LENGTH_BYTES)
      if (length > most) throw corruptFile(path, 'header', `a length of ${length} bytes`, `at most ${most}`)
      const dataStart = LENGTH_BYTES + Number(length)
      const bytes = await readAt(handle, path, LENGTH_BYTES, Number(length))
      return new SafetensorsFile(path, handle, parseHeader(new Uint8Array(bytes), size - dataStart, path), dataStart)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** One tensor; F16 and BF16 come as float32, BOOL as bytes. Throws UNKNOWN_NAME, DATA_CORRUPT, OUT_OF_MEMORY. */
  async read(name: string): Promise<Tensor> {
    const entry = this.tensors.get(name)
    if (!entry) {
      const message = `${this.path}: received tensor ${shown(name)}; use one of the ${this.tensors.size} names in \`tensors\``
      throw new ArbalestError('UNKNOWN_NAME', message, { data: { file: this.path, name } })
    }
    const { type, shape, begin, end } = entry
    const raw = await readAt(this.#handle, this.path, this.#dataStart + begin, end - begin)
    return { shape, data: ELEMENT_TYPES[type].decode(raw) }
  }

  /** Closes the file; what was read stays. */
  async close(): Promise<void> {
    await this.#handle.close()
  }

  /** As `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** A whole file. Throws as SafetensorsFile does. */
export async function readSafetensors(
  path: string
): Promise<{ metadata: Readonly<Record<string, string>>; tensors: ReadonlyMap<string, Tensor> }> {
  await using file = await SafetensorsFile.open(path)
  const tensors = new Map<string, Tensor>()
  for (const name of file.tensors.keys()) tensors.set(name, await file.read(name))
  return { metadata: file.metadata, tensors }
}

/** What is written beside the tensors, and how surely. */
export interface SafetensorsOptions {
  readonly metadata?: Readonly<Record<string, string>>
  /** The file and its name are on the disk when the promise resolves; true if left out. */
  readonly sync?: boolean
}

/**
 * Writes tensors under a name that appears only when the file is whole. Every array as its own type: Float32Array as F32. Larger elements
 * come first and the header is padded, so that each tensor is aligned for readers that map the file; otherwise the order is kept.
 * Throws INVALID_OPTION for data that does not fill its shape, and WRITE_FAILED.
 */
export async function writeSafetensors(
  path: string,
  tensors: Iterable<readonly [string, Tensor]>,
  { metadata, sync = true }: SafetensorsOptions = {}
): Promise<void> {
  const laid = [...tensors].map(([name, tensor]) => ({ name, tensor, type: writtenType(name, tensor) }))
  laid.sort((a, b) => ELEMENT_TYPES[b.type].bytes - ELEMENT_TYPES[a.type].bytes)
  const header = headerBytes(laid, metadata)
  await replaceFile(path, { sync }, async (handle) => {
    await writeAll(handle, header)
    for (const { tensor } of laid) await writeAll(handle, tensor.data)
  })
}

interface LaidTensor {
  readonly name: string
  readonly tensor: Tensor
  readonly type: ElementTypeName
}

function writtenType(name: string, tensor: Tensor): ElementTypeName {
  checkTensor(name, tensor)
  const type = elementTypeOf(tensor.data)
  if (!type) throw invalidOption(`tensor ${name}`, tensor.data[Symbol.toStringTag], 'use a Float32Array or another array of whole elements')
  return type
}

function headerBytes(laid: readonly LaidTensor[], metadata: SafetensorsOptions['metadata']): Uint8Array {
  const members = new Map<string, unknown>(metadata ? [[METADATA, metadata]] : [])
  let begin = 0
  for (const { name, tensor, type } of laid) {
    if (name === METADATA || members.has(name)) throw invalidOption('tensors', name, 'give each tensor a name of its own')
    const end = begin + tensor.data.byteLength
    members.set(name, { dtype: type, shape: tensor.shape, data_offsets: [begin, end] })
    begin = end
  }
  // Member by member: an object would put names that are numbers first.
  const text = `{${[...members].map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`).join(',')}}`
  const json = Buffer.from(text)
  const length = Math.ceil(json.length / 8) * 8
  if (length > LONGEST_HEADER)
    throw invalidOption('tensors', `a header of ${length} bytes`, `use shorter names or metadata: at most ${LONGEST_HEADER}`)
  const bytes = Buffer.alloc(LENGTH_BYTES + length, ' ')
  bytes.writeBigUInt64LE(BigInt(length))
  json.copy(bytes, LENGTH_BYTES)
  return bytes
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    // Opening a pipe would wait for its writer.
    if (!(await stat(path)).isFile()) throw new Error('not a file')
    return await open(path)
  } catch (cause) {
    throw unreadableFile(path, cause)
  }
}

/** Never asks for more than the file is known to hold. */
async function readAt(handle: FileHandle, path: string, position: number, length: number): Promise<ArrayBuffer> {
  let bytes: Uint8Array<ArrayBuffer>
  try {
    bytes = new Uint8Array(length)
  } catch (cause) {
    const message = `${path}: ${length} bytes could not be allocated; free memory`
    throw new ArbalestError('OUT_OF_MEMORY', message, { cause, data: { file: path, bytes: length } })
  }
  for (let filled = 0; filled < length;) {
    const { bytesRead } = await handle
      .read(bytes, filled, Math.min(length - filled, 2 ** 30), position + filled)
      .catch((cause: unknown) => {
        throw unreadableFile(path, cause)
      })
    if (bytesRead === 0) throw corruptFile(path, 'data', `its end after ${position + filled} bytes`, `${position + length} bytes`)
    filled += bytesRead
  }
  return bytes.buffer
}
