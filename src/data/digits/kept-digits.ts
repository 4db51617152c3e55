import { createHash } from 'node:crypto'
import { stat, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder, replaceFile, writeAll } from '../../formats/write-file.js'
import { openFile } from '../../node.js'
import { cacheFolder } from '../cache-folder.js'

/** Changes with the images that the generator draws: files of other versions are not read. */
export const DRAWING_VERSION = 1

const SUM_BYTES = 32

/** The bytes of one read: the event loop turns in between. */
const CHUNK = 2 ** 20

/** The file that keeps the default digits; undefined if the user has no folder for it. */
export function keptDigitsFile(): string | undefined {
  const folder = cacheFolder()
  return folder === undefined ? undefined : join(folder, `digits-${DRAWING_VERSION}.bin`)
}

/**
 * Fills the arrays from the file, or else draws them and writes the file. A file that is missing, damaged or cannot be read is replaced; if it cannot be
 * written, the next process draws again. Layout: SHA-256 of all that follows, then the arrays.
 */
export async function readOrDraw(file: string, arrays: readonly Uint8Array[], draw: () => Promise<void>): Promise<void> {
  if (await readKept(file, arrays).catch(() => false)) return
  await draw()
  await keep(file, arrays).catch(() => {})
}

/** Returns whether the arrays now have what was kept. */
async function readKept(file: string, arrays: readonly Uint8Array[]): Promise<boolean> {
  const size = arrays.reduce((sum, { length }) => sum + length, SUM_BYTES)
  // Before it is opened: to open a pipe waits for its writer.
  const found = await stat(file)
  if (!found.isFile() || found.size !== size) return false
  const handle = await openFile(file)
  try {
    const sum = Buffer.alloc(SUM_BYTES)
    await fill(handle, sum)
    const hash = createHash('sha256')
    for (const array of arrays) {
      for (let from = 0; from < array.length; from += CHUNK) {
        const chunk = array.subarray(from, from + CHUNK)
        await fill(handle, chunk)
        hash.update(chunk)
      }
    }
    return hash.digest().equals(sum)
  } finally {
    await handle.close()
  }
}

async function fill(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let read = 0; read < bytes.length;) {
    const { bytesRead } = await handle.read(bytes, read)
    if (bytesRead === 0) throw new Error('the file has become shorter')
    read += bytesRead
  }
}

async function keep(file: string, arrays: readonly Uint8Array[]): Promise<void> {
  makeFolder(dirname(file))
  const hash = createHash('sha256')
  for (const array of arrays) hash.update(array)
  await replaceFile(file, { sync: false }, async (handle) => {
    await writeAll(handle, hash.digest())
    for (const array of arrays) await writeAll(handle, array)
  })
}
