import { spawn } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { type FileHandle, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ArbalestError, isError, messageOf } from '../errors.js'
import { corruptFile, unreadableFile } from '../formats/file-errors.js'
import { openFile } from '../node.js'
import { allocate } from './checks.js'

/** Bytes that are read or decompressed at a time. */
const CHUNK = 1 << 20

/** Reads a file, plain or compressed, from start to end. Never allocates more memory than the file can contain. */
export class ByteReader {
  readonly file: string
  readonly #content: Decompressed
  #chunk: Uint8Array = new Uint8Array(0)
  #taken = 0

  private constructor(file: string, content: Decompressed) {
    this.file = file
    this.#content = content
  }

  /** Runs `read` on the open file and closes it. Throws DATA_CORRUPT unless `read` takes all of its content. */
  static async readAll<T>(file: string, read: (reader: ByteReader) => Promise<T>): Promise<T> {
    const content = await decompress(file)
    try {
      const reader = new ByteReader(file, content)
      const result = await read(reader)
      await reader.#expectEnd()
      return result
    } finally {
      await content.chunks.return()
    }
  }

  /** The next `count` bytes; `name` says in an error what they contain. Throws DATA_CORRUPT if the file is too short. */
  async take(count: number, name: string): Promise<Uint8Array> {
    // Checked before the allocation: a forged header must not take memory.
    if (count > this.#content.maxBytes - this.#taken) throw this.#truncated(count, name, `at most ${this.#content.maxBytes - this.#taken}`)
    const bytes = allocate(count, this.file)
    let filled = 0
    while (filled < count) {
      if (this.#chunk.length === 0 && !(await this.#advance())) throw this.#truncated(count, name, `${filled}`)
      const part = this.#chunk.subarray(0, count - filled)
      bytes.set(part, filled)
      filled += part.length
      this.#chunk = this.#chunk.subarray(part.length)
    }
    this.#taken += count
    return bytes
  }

  /** Passes over the bytes up to the end. */
  async skipRest(): Promise<void> {
    this.#chunk = new Uint8Array(0)
    while (await this.#advance()) this.#chunk = new Uint8Array(0)
  }

  async #expectEnd(): Promise<void> {
    if (this.#chunk.length > 0 || (await this.#advance()))
      throw corruptFile(this.file, { expected: `its end after ${this.#taken} bytes`, found: 'more bytes' })
  }

  async #advance(): Promise<boolean> {
    const next = await this.#content.chunks.next()
    if (next.done) return false
    this.#chunk = next.value
    return true
  }

  #truncated(count: number, name: string, found: string): Error {
    return corruptFile(this.file, { expected: `${count} bytes of ${name} from byte ${this.#taken} on`, found })
  }
}

/** The decompressed content of a file, as a stream. */
export interface Decompressed {
  readonly chunks: AsyncGenerator<Uint8Array, void>
  /** An upper bound of the bytes in all chunks. */
  readonly maxBytes: number
}

/**
 * Opens a plain, gzip or xz file, whose kind is detected from its content. The program `xz` decompresses xz files. The chunks end with
 * DATA_CORRUPT if the compressed data is damaged. Throws DATA_NOT_FOUND if the file cannot be read.
 */
export async function decompress(file: string): Promise<Decompressed> {
  const { magic, size } = await readMagic(file)
  // Deflate expands a byte to at most 1032 bytes; xz expands a run of zeros by about 7,000.
  if (magic.startsWith('1f8b')) return { chunks: gunzipped(file, size), maxBytes: size * 1032 }
  if (magic === 'fd377a585a00') return { chunks: unxzipped(file), maxBytes: size * 16384 }
  return { chunks: plain(file), maxBytes: size }
}

async function readMagic(file: string): Promise<{ magic: string; size: number }> {
  let handle: FileHandle | undefined
  try {
    const found = await stat(file)
    // Opening a pipe would block until it has a writer.
    if (!found.isFile()) throw new Error('not a file')
    handle = await openFile(file)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(6), 0, 6, 0)
    return { magic: buffer.subarray(0, bytesRead).toString('hex'), size: found.size }
  } catch (cause) {
    throw unreadableFile(file, cause)
  } finally {
    await handle?.close()
  }
}

async function* plain(file: string): AsyncGenerator<Uint8Array, void> {
  try {
    yield* createReadStream(file, { highWaterMark: CHUNK })
  } catch (cause) {
    throw unreadableFile(file, cause)
  }
}

async function* gunzipped(file: string, size: number): AsyncGenerator<Uint8Array, void> {
  const gunzip = createGunzip({ chunkSize: CHUNK })
  // An error of either stream reaches the loop below through `gunzip`; leaving the loop early destroys both.
  pipeline(createReadStream(file, { highWaterMark: CHUNK }), gunzip, () => {})
  try {
    yield* gunzip
  } catch (cause) {
    throw corruptFile(file, { expected: 'a complete gzip stream', found: messageOf(cause), cause })
  }
  // zlib ignores bytes after the last member if they begin with a zero byte.
  if (gunzip.bytesWritten < size)
    throw corruptFile(file, {
      expected: `a gzip stream of ${gunzip.bytesWritten} bytes`,
      found: `${size - gunzip.bytesWritten} more bytes`
    })
}

async function* unxzipped(file: string): AsyncGenerator<Uint8Array, void> {
  // The limit bounds the memory that a forged header can make xz allocate; xz -9 needs 65 MiB.
  const args = ['--decompress', '--stdout', '--memlimit-decompress=256MiB', '--', file]
  // In a process group of its own, so that Ctrl-C does not reach it. If this process ends, xz ends with SIGPIPE.
  const child = spawn('xz', args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const ended = new Promise<Error | number | NodeJS.Signals>((resolve) => {
    child.once('error', resolve).once('close', (code, signal) => resolve(code ?? signal ?? -1))
  })
  let stderr = ''
  child.stderr.on('data', (text: Buffer) => {
    if (stderr.length < 400) stderr += text.toString()
  })
  try {
    yield* child.stdout
    const end = await ended
    if (isError(end)) throw xzMissing(file, end)
    if (typeof end === 'string') throw xzKilled(file, end)
    if (end !== 0) throw corruptFile(file, { expected: 'a complete xz stream', found: stderr.split('\n')[0] || `exit status ${end} of xz` })
  } finally {
    child.kill()
    await ended
  }
}

function xzMissing(file: string, cause: Error): ArbalestError {
  const message = `${file}: the program xz, which decompresses it, cannot be run (${messageOf(cause)}); install it: sudo apt-get install xz-utils`
  return new ArbalestError('DATA_NOT_FOUND', message, { cause, data: { file } })
}

function xzKilled(file: string, signal: NodeJS.Signals): ArbalestError {
  const message = `${file}: ${signal} ended xz while it decompressed the file; read it again, or decompress it yourself`
  return new ArbalestError('ABORTED', message, { data: { file, signal } })
}
