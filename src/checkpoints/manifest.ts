import { stat } from 'node:fs/promises'
import { createReadStream } from 'node:fs'
import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { join } from 'node:path'
import { ArbalestError, messageOf } from '../errors.js'
import { corruptFile, unreadableFile, unwritableFile } from '../formats/file-errors.js'
import { replaceFile } from '../formats/write-file.js'
import { parseStrictJson, plainJson } from '../formats/strict-json.js'
import { openFile } from '../node.js'

/** The contents of a checkpoint's folder. It is written last: a folder that has a manifest was written completely. */
export interface Manifest {
  /** Of the manifest's format. */
  readonly version: typeof VERSION
  /** Iterations completed before the checkpoint. */
  readonly iteration: number
  readonly files: readonly ManifestFile[]
  /** Everything that is not a tensor, as plain JSON. The store does not read it. */
  readonly state: unknown
}

export interface ManifestFile {
  readonly name: string
  readonly bytes: number
  /** In hexadecimal digits. */
  readonly sha256: string
}

const VERSION = 1
export const MANIFEST = 'checkpoint.json'
/**
 * The longest manifest in bytes, and its most values and deepest nesting, so that a damaged one takes bounded time and memory. A run's measurements and the messages
 * to its learners are in it: a measurement has about ten values.
 */
const LONGEST = 2 ** 28
const MOST_VALUES = 2 ** 22
const DEEPEST = 64

/** Writes a manifest of these files of a folder, and syncs it. Throws WRITE_FAILED, also where one of them is not there, and where the manifest could not be read again. */
export async function writeManifest(
  folder: string,
  names: readonly string[],
  about: Omit<Manifest, 'version' | 'files'>
): Promise<Manifest> {
  const files = []
  for (const name of [...names].sort()) files.push({ name, ...(await measured(join(folder, name), unwritableFile)) })
  const manifest: Manifest = { version: VERSION, ...about, files }
  const path = join(folder, MANIFEST)
  const text = Buffer.from(JSON.stringify({ ...manifest, sha256: hashOf(manifest) }, undefined, 1))
  checkReadable(path, text)
  await replaceFile(path, { sync: true, bytes: text.byteLength }, (handle) => handle.writeFile(text))
  return manifest
}

/** Throws WRITE_FAILED for a manifest that `readManifest` refuses: the checkpoint would be worthless, and those before it are deleted. */
function checkReadable(path: string, text: Buffer): void {
  try {
    checkLength(path, text.byteLength)
    manifestIn(path, text.toString())
  } catch (cause) {
    const what = cause instanceof ArbalestError ? `${String(cause.data['where'])}: ${String(cause.data['found'])}` : messageOf(cause)
    const message =
      `checkpoint: its manifest could not be read again (${what}): it holds every measurement and every message to the learners; ` +
      'measure less often (evaluateEvery), or send less, such as the name of a file instead of its content'
    throw new ArbalestError('WRITE_FAILED', message, { cause, data: { file: path, bytes: text.byteLength } })
  }
}

/** Throws DATA_CORRUPT if the manifest is missing or wrong, DATA_NOT_FOUND if it cannot be read. */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, MANIFEST)
  return manifestIn(path, await readText(path))
}

function manifestIn(path: string, text: string): Manifest {
  let value: unknown
  try {
    value = plainJson(parseStrictJson(text, { depth: DEEPEST, values: MOST_VALUES }))
  } catch (cause) {
    throw corruptFile(path, { where: 'text', expected: 'JSON', found: messageOf(cause), cause })
  }
  return checked(path, value)
}

/** Of a manifest without its own hash. */
function hashOf(manifest: unknown): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}

/** Compares every file with its size and hash. Throws DATA_CORRUPT, which names the file, and DATA_NOT_FOUND. */
export async function verify(folder: string, { files }: Manifest): Promise<void> {
  for (const { name, bytes, sha256 } of files) {
    const path = join(folder, name)
    // Checked before opening: a pipe would wait for its writer, and a device may have no end.
    const size = await sizeOf(path)
    if (size !== bytes) throw corruptFile(path, { where: 'size', expected: `${bytes}`, found: `${size} bytes` })
    const found = await measured(path, unread)
    if (found.bytes !== bytes) throw corruptFile(path, { where: 'size', expected: `${bytes}`, found: `${found.bytes} bytes` })
    if (found.sha256 !== sha256) throw corruptFile(path, { where: 'contents', expected: sha256, found: `sha256 ${found.sha256}` })
  }
}

async function measured(path: string, failure: (path: string, cause: unknown) => ArbalestError): Promise<Omit<ManifestFile, 'name'>> {
  const hash = createHash('sha256')
  let bytes = 0
  try {
    await pipeline(createReadStream(path), async function (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk)
        bytes += chunk.length
      }
    })
  } catch (cause) {
    throw failure(path, cause)
  }
  return { bytes, sha256: hash.digest('hex') }
}

async function readText(path: string): Promise<string> {
  checkLength(path, await sizeOf(path))
  try {
    await using handle = await openFile(path)
    return await handle.readFile('utf8')
  } catch (cause) {
    throw unread(path, cause)
  }
}

function checkLength(path: string, bytes: number): void {
  if (bytes > LONGEST) throw corruptFile(path, { where: 'size', expected: `at most ${LONGEST}`, found: `${bytes} bytes` })
}

/** Throws DATA_CORRUPT for anything but a regular file. */
async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch((cause: unknown) => {
    throw unread(path, cause)
  })
  if (!found.isFile()) throw corruptFile(path, { where: 'file', expected: 'a file', found: 'something else' })
  return found.size
}

/** A missing file, or one on a bad part of the disk, means that the checkpoint is damaged; a file that the system does not let us read may be whole. */
function unread(path: string, cause: unknown): ArbalestError {
  const { code } = cause as NodeJS.ErrnoException
  if (code === 'ENOENT') return corruptFile(path, { where: 'file', expected: 'one', found: 'none', cause })
  if (code === 'EIO') return corruptFile(path, { where: 'file', expected: 'its bytes', found: 'an error of the disk (EIO)', cause })
  return unreadableFile(path, cause, 'let this user read it, or name another checkpoint')
}

function checked(path: string, value: unknown): Manifest {
  const refuse = (where: string, expected: string, found: unknown): never => {
    throw corruptFile(path, { where, expected, found: JSON.stringify(found) ?? 'nothing' })
  }
  const isObject = (each: unknown): each is Record<string, unknown> => typeof each === 'object' && each !== null && !Array.isArray(each)
  const isCount = (each: unknown): each is number => Number.isSafeInteger(each) && (each as number) >= 0
  if (!isObject(value)) return refuse('text', 'an object', value)
  const { sha256, ...manifest } = value
  if (sha256 !== hashOf(manifest)) refuse('sha256', hashOf(manifest), sha256)
  const { version, iteration, files, state } = manifest
  if (version !== VERSION) refuse('version', `${VERSION}: this release reads no other`, version)
  if (!isCount(iteration)) refuse('iteration', 'a whole number', iteration)
  if (!Array.isArray(files)) return refuse('files', 'a list', files)
  for (const file of files as unknown[]) {
    if (!isObject(file)) return refuse('files', 'objects', file)
    // A plain name cannot lead out of the folder.
    if (typeof file['name'] !== 'string' || !/^[\w-][\w.-]*$/.test(file['name'])) refuse('files', 'plain names', file['name'])
    if (!isCount(file['bytes'])) refuse('files', 'sizes', file['bytes'])
    if (typeof file['sha256'] !== 'string' || !/^[0-9a-f]{64}$/.test(file['sha256'])) refuse('files', 'hashes', file['sha256'])
  }
  if (state === undefined) refuse('state', 'one', state)
  return manifest as unknown as Manifest
}
