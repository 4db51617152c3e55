import { stat, type FileHandle } from 'node:fs/promises'
import { ArbalestError, invalidOption, shown } from '../errors.js'
import { openFile } from '../node.js'
import { ELEMENT_TYPES, elementTypeOf, type ElementTypeName, checkTensor, type Tensor } from './tensor.js'
import { corruptFile, unreadableFile } from './file-errors.js'
import { check } from '../schema/faults.js'
import { group, option } from '../schema/group.js'
import { kind, text as words, truth } from '../schema/values.js'
import { replaceFile, writeAll } from './write-file.js'
import { METADATA, parseHeader, type SafetensorsHeader, type TensorEntry } from './safetensors-header.js'

export type { SafetensorsHeader, TensorEntry } from './safetensors-header.js'

const safetensorsPath = words('the path of a safetensors file')

/** The longest header in bytes, as in the format's reference implementation. */
const MAX_HEADER_BYTES = 100_000_000

/** The file begins with the header's length, a little-endian 64-bit number. */
const LENGTH_BYTES = 8

/**
 * An open safetensors file (https://github.com/huggingface/safetensors). `open` checks the whole header; tensors are read one by one.
 * Reading never allocates more memory than the file has bytes, even if its header is forged.
 */
export class SafetensorsFile implements SafetensorsHeader, AsyncDisposable {
  readonly path: string
  readonly metadata: Readonly<Record<string, string>>
  readonly tensors: ReadonlyMap<string, TensorEntry>
  readonly #handle: FileHandle
  readonly #dataStart: number

  private constructor(path: string, handle: FileHandle, header: SafetensorsHeader, dataStart: number) {
    // A program in JavaScript can call it.
    if (typeof header?.metadata !== 'object') throw invalidOption('header', header, 'use await SafetensorsFile.open(path)')
    this.path = path
    this.metadata = header.metadata
    this.tensors = header.tensors
    this.#handle = handle
    this.#dataStart = dataStart
  }

  /** Throws DATA_NOT_FOUND if the file cannot be read, DATA_CORRUPT, and INVALID_OPTION for what is no path. */
  static async open(path: string): Promise<SafetensorsFile> {
    check(safetensorsPath, path, { path: 'path' })
    const handle = await openRegularFile(path)
    try {
      const { size } = await handle.stat()
      if (size < LENGTH_BYTES)
        throw corruptFile(path, { where: 'header', expected: `a length of ${LENGTH_BYTES} bytes`, found: `a file of ${size} bytes` })
      const length = new DataView(await readAt(handle, path, 0, LENGTH_BYTES)).getBigUint64(0, true)
      const most = Math.min(MAX_HEADER_BYTES, size - LENGTH_BYTES)
      if (length > most) await refuseOtherFormats(handle, path)
      if (length > most) throw corruptFile(path, { where: 'header', expected: `at most ${most}`, found: `a length of ${length} bytes` })
      const dataStart = LENGTH_BYTES + Number(length)
      const bytes = await readAt(handle, path, LENGTH_BYTES, Number(length))
      return new SafetensorsFile(path, handle, parseHeader(new Uint8Array(bytes), size - dataStart, path), dataStart)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Reads one tensor: F16 and BF16 as float32, BOOL as bytes. Throws UNKNOWN_NAME, DATA_CORRUPT, OUT_OF_MEMORY. */
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

  /** Closes the file; tensors that were read stay valid. */
  async close(): Promise<void> {
    await this.#handle.close()
  }

  /** As `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** Reads all tensors of a file. Throws the errors of SafetensorsFile. */
export async function readSafetensors(
  path: string
): Promise<{ metadata: Readonly<Record<string, string>>; tensors: ReadonlyMap<string, Tensor> }> {
  await using file = await SafetensorsFile.open(path)
  const tensors = new Map<string, Tensor>()
  for (const name of file.tensors.keys()) tensors.set(name, await file.read(name))
  return { metadata: file.metadata, tensors }
}

/** How `writeSafetensors` writes a file. */
export interface SafetensorsOptions {
  readonly metadata?: Readonly<Record<string, string>>
  /** Whether content and name are on the disk when the promise resolves; true if omitted. */
  readonly sync?: boolean
}

const safetensorsOptions = group({
  metadata: option(
    kind<Readonly<Record<string, string>>>(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      'an object of texts'
    )
  ),
  sync: option(truth(), { default: true })
})

/**
 * Writes tensors to a file, which appears under its name when it is complete. Every array keeps its type: Float32Array becomes F32. The header
 * is padded and tensors with larger elements come first, so that all tensors are aligned for readers that map the file; apart from that
 * the order is kept. Throws INVALID_OPTION for data that does not fit its shape, and WRITE_FAILED.
 */
export async function writeSafetensors(
  path: string,
  tensors: Iterable<readonly [string, Tensor]>,
  options: SafetensorsOptions = {}
): Promise<void> {
  check(safetensorsPath, path, { path: 'path' })
  const { metadata, sync } = check(safetensorsOptions, options)
  checkMetadata(metadata)
  const ordered = pairsIn(tensors).map(([name, tensor]) => ({ name, tensor, type: writtenType(name, tensor) }))
  ordered.sort((a, b) => ELEMENT_TYPES[b.type].bytes - ELEMENT_TYPES[a.type].bytes)
  const header = headerBytes(ordered, metadata)
  const bytes = ordered.reduce((sum, { tensor }) => sum + tensor.data.byteLength, header.byteLength)
  await replaceFile(path, { sync, bytes }, async (handle) => {
    await writeAll(handle, header)
    for (const { tensor } of ordered) await writeAll(handle, tensor.data)
  })
}

/** Other values would make a file that no reader takes. Throws INVALID_OPTION. */
function checkMetadata(metadata: Readonly<Record<string, unknown>> = {}): void {
  for (const [key, value] of Object.entries(metadata))
    if (typeof value !== 'string') throw invalidOption(`metadata.${key}`, value, 'give a text, such as JSON')
}

/** Throws INVALID_OPTION. */
function pairsIn(tensors: unknown): (readonly [string, Tensor])[] {
  const isIterable = typeof tensors === 'object' && tensors !== null && Symbol.iterator in tensors
  const pairs = isIterable ? [...(tensors as Iterable<unknown>)] : undefined
  if (pairs?.every((pair) => Array.isArray(pair) && typeof pair[0] === 'string')) return pairs as (readonly [string, Tensor])[]
  throw invalidOption('tensors', tensors, 'give pairs of a name and a tensor, such as a Map')
}

interface TypedTensor {
  readonly name: string
  readonly tensor: Tensor
  readonly type: ElementTypeName
}

function writtenType(name: string, tensor: Tensor): ElementTypeName {
  checkTensor(name, tensor)
  const type = elementTypeOf(tensor.data)
  if (!type) throw invalidOption(`tensor ${name}`, tensor.data[Symbol.toStringTag], 'use a Float32Array or an integer array')
  return type
}

function headerBytes(tensors: readonly TypedTensor[], metadata: SafetensorsOptions['metadata']): Uint8Array {
  const members = new Map<string, unknown>(metadata ? [[METADATA, metadata]] : [])
  let begin = 0
  for (const { name, tensor, type } of tensors) {
    if (name === METADATA || members.has(name)) throw invalidOption('tensors', name, 'give each tensor a name of its own')
    const end = begin + tensor.data.byteLength
    members.set(name, { dtype: type, shape: tensor.shape, data_offsets: [begin, end] })
    begin = end
  }
  // Not JSON.stringify of one object, which would put names that are numbers first.
  const text = `{${[...members].map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`).join(',')}}`
  const json = Buffer.from(text)
  const length = Math.ceil(json.length / 8) * 8
  if (length > MAX_HEADER_BYTES)
    throw invalidOption('tensors', `a header of ${length} bytes`, `use shorter names or metadata: at most ${MAX_HEADER_BYTES}`)
  const bytes = Buffer.alloc(LENGTH_BYTES + length, ' ')
  bytes.writeBigUInt64LE(BigInt(length))
  json.copy(bytes, LENGTH_BYTES)
  return bytes
}

/** The first bytes of files that are often taken for safetensors, and what to do about them. ONNX begins with its IR version, a varint in field 1 of a protocol buffer. */
const OTHER_FORMATS: readonly (readonly [format: string, begins: (bytes: Uint8Array) => boolean, fix?: string])[] = [
  ['an ONNX model', ([tag, version = 0, next = 0]) => tag === 0x08 && version > 0 && version < 32 && (next & 7) === 2],
  ['a PyTorch checkpoint (torch.save) or another zip archive', ([first, second]) => first === 0x50 && second === 0x4b],
  ['a pickle file', ([first, second = 0]) => first === 0x80 && second <= 5],
  ['an HDF5 file, such as Keras writes', (bytes) => textOf(bytes).startsWith('\x89HDF')],
  [
    'an image',
    (bytes) => /^(?:\x89PNG|\xff\xd8\xff[\xc0-\xfe]|GIF8|RIFF|<svg|<\?xml)/.test(textOf(bytes)),
    'name the file of a model here'
  ],
  ['a pointer of Git LFS to one', (bytes) => textOf(bytes) === 'version ', 'fetch the file itself, as by git lfs pull'],
  ['a page of HTML', (bytes) => /^\s*<(?:!doc|html)/i.test(textOf(bytes)), 'download the file itself']
]

/** Throws DATA_CORRUPT that names the format, if a file is of a known other format. */
async function refuseOtherFormats(handle: FileHandle, path: string): Promise<void> {
  const bytes = new Uint8Array(await readAt(handle, path, 0, LENGTH_BYTES))
  const [format, , fix = 'convert it to safetensors, or name another file'] = OTHER_FORMATS.find(([, begins]) => begins(bytes)) ?? []
  if (format !== undefined) throw corruptFile(path, { expected: 'a safetensors file', found: format, fix })
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}

async function openRegularFile(path: string): Promise<FileHandle> {
  try {
    // Opening a pipe would block until it has a writer.
    if (!(await stat(path)).isFile()) throw new Error('not a file')
    return await openFile(path)
  } catch (cause) {
    throw unreadableFile(path, cause)
  }
}

/** Callers check `length` against the file's size before. */
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
    if (bytesRead === 0)
      throw corruptFile(path, { where: 'data', expected: `${position + length} bytes`, found: `its end after ${position + filled} bytes` })
    filled += bytesRead
  }
  return bytes.buffer
}
