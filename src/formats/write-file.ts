import { closeSync, constants, mkdirSync, openSync, statSync, writeSync, type Stats } from 'node:fs'
import { rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ArbalestError } from '../errors.js'
import { absolutePath, builtin, openFile } from '../node.js'
import { unwritableFile } from './file-errors.js'

/** The most bytes of one write call: a longer call would block one of the few threads that serve all file operations of the process. */
const CHUNK = 2 ** 26

/** Of the name of a file that a temporary one has. */
const SHOWN_CHARACTERS = 32

/** Of a file's mode, who may read, write and execute it. */
const PERMISSIONS = 0o777

/**
 * Replaces a file atomically: writes a temporary file in the same folder and renames it when it is complete. A symbolic link stays, and the file that it leads to is
 * replaced. The permissions of a file that was there hold for the new one, before it has any content. If anything fails, the previous file stays, as does what is no file: a pipe, whose reader would wait for ever, or a device. With `sync`, content and name are on the disk when the promise resolves. `bytes` will be written, where that is known. Throws WRITE_FAILED.
 */
export async function replaceFile(
  path: string,
  { sync, bytes }: { readonly sync: boolean; readonly bytes?: number },
  write: (handle: FileHandle) => Promise<void>
): Promise<void> {
  let temporary: string | undefined
  try {
    const before = await refuseDevice(path)
    const file = await replacedFile(path)
    temporary = temporaryName(file)
    await withFile(temporary, 'wx', async (handle) => {
      // Some file systems have none.
      if (before) await handle.chmod(before.mode & PERMISSIONS).catch(() => {})
      await write(handle)
      if (sync) await handle.sync()
    })
    await rename(temporary, file)
    if (sync) await withFile(dirname(file), 'r', (handle) => handle.sync())
  } catch (error) {
    if (temporary !== undefined) await rm(temporary, { force: true }).catch(() => {})
    throw error instanceof ArbalestError ? error : unwritableFile(path, error, { needed: bytes })
  }
}

/** Checks in advance that `replaceFile` can write to a path, and leaves nothing behind. Throws WRITE_FAILED. */
export async function checkReplaceable(path: string): Promise<void> {
  try {
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory() || path.endsWith('/')) throw new Error('it is a folder')
    await refuseDevice(path)
    const temporary = temporaryName(await replacedFile(path))
    await withFile(temporary, 'wx', async () => {})
    await rm(temporary)
  } catch (cause) {
    throw unwritableFile(path, cause)
  }
}

/**
 * What a file would take the place of; undefined for nothing. Throws for a pipe or a device: /dev/null would be a file for all programs. The system itself refuses to replace
 * a folder.
 */
async function refuseDevice(path: string): Promise<Stats | undefined> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    // The temporary file could be written, and not renamed.
    if (error.code === 'ENAMETOOLONG') throw error
    return undefined
  })
  if (found && !found.isFile() && !found.isDirectory()) throw new Error('it is a pipe or a device')
  return found
}

/** Writes all bytes of an array at the handle's current position. */
export async function writeAll(handle: FileHandle, { buffer, byteOffset, byteLength }: ArrayBufferView): Promise<void> {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength)
  for (let written = 0; written < byteLength;) {
    const { bytesWritten } = await handle.write(bytes, written, Math.min(byteLength - written, CHUNK))
    written += bytesWritten
  }
}

/**
 * Opens a file that is written in this thread while a run goes on. A pipe that nobody reads is refused: to open it would wait for ever. A pipe is opened for writing alone: otherwise this process
 * would count as its reader, and a write would wait for ever once the other reader has gone. Throws the system's error.
 */
export function openRecord(path: string, flags: 'a+' | 'w'): number {
  if (!isPipe(path)) return openSync(path, flags)
  let first: number
  try {
    first = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch (cause) {
    throw (cause as NodeJS.ErrnoException).code === 'ENXIO' ? new Error('no process reads this pipe', { cause }) : cause
  }
  try {
    // Its writes wait for a slow reader, where those of the first would fail.
    return openSync(path, 'w')
  } finally {
    closeSync(first)
  }
}

function isPipe(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFIFO() === true
  } catch {
    // The opening tells why, unless it is allowed where looking is not.
    return false
  }
}

/** Appends all bytes to a file: the system may take a part of them where the disk becomes full. Throws the system's error. */
export function appendAll(file: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length;) written += writeSync(file, bytes, written)
}

/**
 * Makes a folder and its missing parents. Returns the first folder that it made, or undefined if all existed. Throws the system's error.
 * Replaces `mkdir({ recursive: true })`, which loops for ever on a file system that answers ENOENT to every mkdir, as /proc does.
 */
export function makeFolder(path: string): string | undefined {
  const folder = absolutePath(path)
  if (isFolder(folder)) return undefined
  const parent = dirname(folder)
  const first = isFolder(parent) ? undefined : makeFolder(parent)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have made it in the meantime.
    if (!isFolder(folder)) throw error
    return first
  }
  return first ?? folder
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** A program that only imports this package starts without what it takes. */
async function replacedFile(path: string): Promise<string> {
  return (await import('../linked-file.js')).linkedFile(path)
}

/** A path beside a file or a folder, of which it has only the beginning of the name: its own may be as long as a name can be. */
export function temporaryName(path: string): string {
  const begin = Array.from(basename(path)).slice(0, SHOWN_CHARACTERS).join('')
  return join(dirname(path), `.${begin}.${builtin.crypto().randomBytes(6).toString('hex')}.tmp`)
}

async function withFile(path: string, flags: string, use: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await openFile(path, flags)
  try {
    await use(handle)
  } finally {
    await handle.close()
  }
}
