import { spawn } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ArbalestError, messageOf } from '../errors.js'
import { corrupt } from './faults.js'

const CHUNK = 1 << 20

/** The content of a file as it streams in, whatever it is packed with. */
export interface Unpacked {
  readonly chunks: AsyncGenerator<Uint8Array, void>
  /** No more than so many bytes can come. */
  readonly bound: number
}

/**
 * Opens a plain, gzip or xz file, told apart by content. xz is left to the program of that name. The chunks end with DATA_CORRUPT where
 * the packing is broken.
 * Throws DATA_NOT_FOUND where the file cannot be read.
 */
export async function unpack(file: string): Promise<Unpacked> {
  const { head, size } = await peek(file)
  // Deflate's ceiling is 1032 bytes from one; a run of zeros in xz comes to about 7,000.
  if (head.startsWith('1f8b')) return { chunks: gunzipped(file, size), bound: size * 1032 }
  if (head === 'fd377a585a00') return { chunks: unxzipped(file), bound: size * 16384 }
  return { chunks: plain(file), bound: size }
}

async function peek(file: string): Promise<{ head: string; size: number }> {
  let handle: FileHandle | undefined
  try {
    const about = await stat(file)
    // Opening a pipe would wait for its writer.
    if (!about.isFile()) throw new Error('not a file')
    handle = await open(file)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(6), 0, 6, 0)
    return { head: buffer.subarray(0, bytesRead).toString('hex'), size: about.size }
  } catch (cause) {
    throw unreadable(file, cause)
  } finally {
    await handle?.close()
  }
}

async function* plain(file: string): AsyncGenerator<Uint8Array, void> {
  try {
    yield* createReadStream(file, { highWaterMark: CHUNK })
  } catch (cause) {
    throw unreadable(file, cause)
  }
}

async function* gunzipped(file: string, size: number): AsyncGenerator<Uint8Array, void> {
  const gunzip = createGunzip({ chunkSize: CHUNK })
  // A failure of either stream reaches the loop below through `gunzip`; leaving the loop early destroys both.
  pipeline(createReadStream(file, { highWaterMark: CHUNK }), gunzip, () => {})
  try {
    yield* gunzip
  } catch (cause) {
    throw corrupt(file, 'a whole gzip stream', messageOf(cause), { cause })
  }
  // zlib passes over what follows the last member if it begins with a zero byte.
  if (gunzip.bytesWritten < size)
    throw corrupt(file, `a gzip stream of ${gunzip.bytesWritten} bytes`, `${size - gunzip.bytesWritten} bytes more`)
}

async function* unxzipped(file: string): AsyncGenerator<Uint8Array, void> {
  // The limit bounds what a forged header can make xz allocate; xz -9 needs 65 MiB.
  const args = ['--decompress', '--stdout', '--memlimit-decompress=256MiB', '--', file]
  // In a group of its own: Ctrl-C is ours to answer. Where this process ends in whatever way, xz ends of the pipe that nobody reads.
  const child = spawn('xz', args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const ended = new Promise<Error | number | NodeJS.Signals>((resolve) => {
    child.once('error', resolve).once('close', (code, signal) => resolve(code ?? signal ?? -1))
  })
  let complaint = ''
  child.stderr.on('data', (text: Buffer) => {
    if (complaint.length < 400) complaint += text.toString()
  })
  try {
    yield* child.stdout
    const end = await ended
    if (end instanceof Error) throw noXz(file, end)
    if (typeof end === 'string') throw killedXz(file, end)
    if (end !== 0) throw corrupt(file, 'a whole xz stream', complaint.split('\n')[0] || `that xz ended with ${end}`)
  } finally {
    child.kill()
    await ended
  }
}

function noXz(file: string, cause: Error): ArbalestError {
  const message = `${file}: unpacking it takes the program xz (${messageOf(cause)}); install it: sudo apt-get install xz-utils`
  return new ArbalestError('DATA_NOT_FOUND', message, { cause, data: { file } })
}

function killedXz(file: string, signal: NodeJS.Signals): ArbalestError {
  const message = `${file}: xz was ended by ${signal} while it unpacked the file; read it again, or unpack it yourself`
  return new ArbalestError('ABORTED', message, { data: { file, signal } })
}

function unreadable(file: string, cause: unknown): ArbalestError {
  const message = `${file}: cannot be read (${messageOf(cause)}); check the path and its permissions`
  return new ArbalestError('DATA_NOT_FOUND', message, { cause, data: { file } })
}
