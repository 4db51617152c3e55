import { randomBytes } from 'node:crypto'
import { rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { linkedFile } from '../linked-file.js'

/**
 * Writes a text to a file that appears when it is whole: a part of a config would be read as one. Where that fails, an older file stays. A symbolic link stays, and the file that it leads to is replaced. What is no file, such as a pipe, is written to as it
 * is. Throws the system's error.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found && !found.isFile()) return writeFile(path, text)
  const file = await linkedFile(path)
  const temporary = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    await writeFile(temporary, text, { flag: 'wx' })
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw error
  }
}
