import { invalidOption, messageOf } from '../../errors.js'
import type { ImageEncoding, SampleEncoding } from '../../formats/encoding.js'
import { corruptFile } from '../../formats/file-errors.js'
import { contentOf, isSide, LARGEST_SIDE, nameOf, type ImageSource } from './image-source.js'
import { decodingOf, toPlanes } from './pixels.js'

/** A model whose samples are images. */
export interface ImageModel {
  /** One sample's shape. */
  readonly input: readonly number[]
  readonly encoding?: SampleEncoding | undefined
}

/** As `readImage`. */
export async function imageSample(image: ImageSource, sampleOrModel: readonly number[] | ImageModel): Promise<Uint8Array> {
  const { input: shape, encoding } = imageModel(sampleOrModel)
  const [channels, height, width, ...more] = shape
  if ((channels !== 1 && channels !== 3) || !isSide(height) || !isSide(width) || more.length > 0)
    throw invalidOption('shape', shape, `an image is a sample (1, H, W) or (3, H, W), with H and W from 1 to ${LARGEST_SIDE}`)
  const bytes = await contentOf(image)
  let pixels: Uint8Array
  try {
    if (encoding?.kind === 'image') pixels = await centreOf(bytes, width, encoding)
    else pixels = await covering(bytes, { width, height })
  } catch (cause) {
    const fix = 'give a complete JPEG, PNG, WebP, GIF, AVIF, TIFF or SVG image'
    throw corruptFile(nameOf(image), { expected: 'an image', found: messageOf(cause).split('\n')[0]!.replace(/:$/, ''), fix, cause })
  }
  const sample = new Uint8Array(channels * height * width)
  toPlanes(pixels, sample, { width, channels })
  return sample
}

function imageModel(given: unknown): ImageModel {
  if (Array.isArray(given)) return { input: given as readonly number[] }
  if (typeof given === 'object' && given !== null && 'input' in given && Array.isArray(given.input)) return given as ImageModel
  throw invalidOption('shape', given, "give a model, or one sample's shape, such as [3, 224, 224]")
}

/** As the images of a folder are measured. */
async function centreOf(bytes: Uint8Array, size: number, { resize, stretch }: ImageEncoding): Promise<Uint8Array> {
  const { sampleOf } = await import('./image-reader.js')
  return sampleOf(bytes, { size, centre: size / resize, stretch: stretch === true, crop: false })
}

async function covering(bytes: Uint8Array, { width, height }: { readonly width: number; readonly height: number }): Promise<Uint8Array> {
  const { default: sharp } = await import('sharp')
  return sharp(bytes, decodingOf(bytes.length))
    .autoOrient()
    .flatten({ background: 'white' })
    .resize(width, height, { fit: 'cover' })
    .toColourspace('srgb')
    .raw({ depth: 'uchar' })
    .toBuffer()
}
