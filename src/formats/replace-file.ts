import { randomBytes } from 'node:crypto'
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ArbalestError } from '../errors.js'
import { unwritableFile } from './faults.js'

/** More in one call would hold one of the few threads that serve all file reads for too long. */
const CHUNK = 2 ** 26

/**
 * Writes a file that has its name only when it is whole: beside its place first, then renamed. With `sync` file and name are on the disk
 * when the promise resolves. Whatever was there before stays where anything fails. Throws WRITE_FAILED.
 */
export async function replaceFile(path: string, { sync }: { sync: boolean }, write: (handle: FileHandle) => Promise<void>): Promise<void> {
  const folder = dirname(path)
  const temporary = besides(path)
  try {
    await useFile(temporary, 'wx', async (handle) => {
      await write(handle)
      if (sync) await handle.sync()
    })
    await rename(temporary, path)
    if (sync) await useFile(folder, 'r', (handle) => handle.sync())
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw error instanceof ArbalestError ? error : unwritableFile(path, error)
  }
}

/** What `replaceFile` would meet at a path, met before there is anything to write: nothing stays. Throws WRITE_FAILED. */
export async function checkReplaceable(path: string): Promise<void> {
  const temporary = besides(path)
  try {
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory() || path.endsWith('/')) throw new Error('it is a folder')
    await useFile(temporary, 'wx', async () => {})
    await rm(temporary)
  } catch (cause) {
    throw unwritableFile(path, cause)
  }
}

function besides(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`)
}

/** All bytes of an array, at the handle's place. */
export async function writeAll(handle: FileHandle, { buffer, byteOffset, byteLength }: ArrayBufferView): Promise<void> {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength)
  for (let written = 0; written < byteLength;) {
    const { bytesWritten } = await handle.write(bytes, written, Math.min(byteLength - written, CHUNK))
    written += bytesWritten
  }
}

async function useFile(path: string, flags: string, use: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await open(path, flags)
  try {
    await use(handle)
  } finally {
    await handle.close()
  }
}
