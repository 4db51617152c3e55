import { readFile, stat } from 'node:fs/promises'
import { invalidOption } from '../../errors.js'
import { unreadableFile } from '../../formats/file-errors.js'

/** The path of an image file, the bytes of one, or a stream of its bytes. */
export type ImageSource = string | Uint8Array | AsyncIterable<Uint8Array>

/** The height or width of the largest image that libvips makes. */
export const LARGEST_SIDE = 16_383

export function isSide(size: unknown): size is number {
  return Number.isInteger(size) && (size as number) >= 1 && (size as number) <= LARGEST_SIDE
}

/** What messages call it. */
export function nameOf(image: ImageSource): string {
  return typeof image === 'string' ? image : 'image'
}

export async function contentOf(image: ImageSource): Promise<Uint8Array> {
  if (image instanceof Uint8Array) return image
  if (typeof image === 'string') return fileContent(image)
  const isStream = typeof image === 'object' && image !== null && Symbol.asyncIterator in image
  if (!isStream) throw invalidOption('image', image, 'give a path, a Uint8Array or a stream of these')
  const chunks: Uint8Array[] = []
  for await (const chunk of image) {
    // A stream with an encoding gives texts, in which bytes are lost.
    if (!(chunk instanceof Uint8Array)) throw invalidOption('image', chunk, 'give a stream of Uint8Arrays, without an encoding')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function fileContent(path: string): Promise<Buffer> {
  try {
    // Opening a pipe would block until it has a writer.
    if (!(await stat(path)).isFile()) throw new Error('it is not a file')
    return await readFile(path)
  } catch (cause) {
    throw unreadableFile(path, cause)
  }
}
