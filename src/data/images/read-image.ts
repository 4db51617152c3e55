import { readFile, stat } from 'node:fs/promises'
import { invalidOption, messageOf } from '../../errors.js'
import type { ImageEncoding, SampleEncoding } from '../../formats/encoding.js'
import { corruptFile, unreadableFile } from '../../formats/file-errors.js'
import { decodingOf, toPlanes } from './pixels.js'

/** The path of an image file, the bytes of one, or a stream of its bytes. */
export type ImageSource = string | Uint8Array | AsyncIterable<Uint8Array>

/** A model whose samples are images. */
export interface ImageModel {
  /** One sample's shape. */
  readonly input: readonly number[]
  readonly encoding?: SampleEncoding | undefined
}

/** The height or width of the largest image that libvips makes. */
const LARGEST_SIDE = 16_383

function isSide(size: number | undefined): size is number {
  return size !== undefined && Number.isInteger(size) && size >= 1 && size <= LARGEST_SIDE
}

/** As `readImage`. */
export async function imageSample(image: ImageSource, sampleOrModel: readonly number[] | ImageModel): Promise<Uint8Array> {
  const { input: shape, encoding } = imageModel(sampleOrModel)
  const [channels, height, width, ...more] = shape
  if ((channels !== 1 && channels !== 3) || !isSide(height) || !isSide(width) || more.length > 0)
    throw invalidOption('shape', shape, `an image is a sample (1, H, W) or (3, H, W), with H and W from 1 to ${LARGEST_SIDE}`)
  const name = typeof image === 'string' ? image : 'image'
  const bytes = await contentOf(image)
  let pixels: Uint8Array
  try {
    if (encoding?.kind === 'image') pixels = await centreOf(bytes, { size: width, channels }, encoding)
    else pixels = await covering(bytes, { width, height, channels })
  } catch (cause) {
    const fix = 'give a complete JPEG, PNG, WebP, GIF, AVIF, TIFF or SVG image'
    throw corruptFile(name, { expected: 'an image', found: messageOf(cause).split('\n')[0]!.replace(/:$/, ''), fix, cause })
  }
  const sample = new Uint8Array(pixels.length)
  toPlanes(pixels, sample, { width, channels })
  return sample
}

function imageModel(given: unknown): ImageModel {
  if (Array.isArray(given)) return { input: given as readonly number[] }
  if (typeof given === 'object' && given !== null && 'input' in given && Array.isArray(given.input)) return given as ImageModel
  throw invalidOption('shape', given, "give a model, or one sample's shape, such as [3, 224, 224]")
}

/** As the images of a folder are measured. */
async function centreOf(
  bytes: Uint8Array,
  { size, channels }: { readonly size: number; readonly channels: 1 | 3 },
  { resize, stretch }: ImageEncoding
): Promise<Uint8Array> {
  const { sampleOf } = await import('./image-reader.js')
  return sampleOf(bytes, { size, channels, centre: size / resize, stretch: stretch === true, crop: false })
}

async function covering(
  bytes: Uint8Array,
  { width, height, channels }: { readonly width: number; readonly height: number; readonly channels: 1 | 3 }
): Promise<Uint8Array> {
  const { default: sharp } = await import('sharp')
  return sharp(bytes, decodingOf(bytes.length))
    .autoOrient()
    .flatten({ background: 'white' })
    .resize(width, height, { fit: 'cover' })
    .toColourspace(channels === 1 ? 'b-w' : 'srgb')
    .raw({ depth: 'uchar' })
    .toBuffer()
}

async function contentOf(image: ImageSource): Promise<Uint8Array> {
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
