import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { ArbalestError } from '../errors.js'
import { corruptFile, unreadableFile } from '../formats/file-errors.js'

/** Bytes that are read at a time. */
const CHUNK = 1 << 20

/** Only regular files: opening a pipe would block until it has a writer, a device has no end, and some files are read twice. Throws DATA_NOT_FOUND. */
export async function checkRegularFile(file: string): Promise<void> {
  const found = await stat(file).catch((cause: unknown) => {
    throw unreadableFile(file, cause)
  })
  if (!found.isFile()) throw unreadableFile(file, new Error('not a file'))
}

/** The text of a file in UTF-8, in pieces of complete characters. Throws DATA_NOT_FOUND, and DATA_CORRUPT for other bytes. */
export async function* textIn(file: string): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decoded = (bytes?: Uint8Array): string => {
    try {
      return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode()
    } catch (cause) {
      throw corruptFile(file, { expected: 'text in UTF-8', found: 'other bytes', fix: 'convert it to UTF-8', cause })
    }
  }
  const stream = createReadStream(file, { highWaterMark: CHUNK })
  try {
    for await (const bytes of stream) yield decoded(bytes as Uint8Array)
  } catch (cause) {
    throw cause instanceof ArbalestError ? cause : unreadableFile(file, cause)
  }
  yield decoded()
}
