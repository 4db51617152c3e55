import { readFile, stat } from 'node:fs/promises'
import { invalidOption, messageOf } from '../../errors.js'
import { corruptFile, unreadableFile } from '../../formats/file-errors.js'
import { pixelLimit, toPlanes } from './pixels.js'

/**
 * Reads an image file (JPEG, PNG, WebP, GIF, AVIF, TIFF, SVG) as one sample of bytes (C, H, W): rotated as its EXIF data says, scaled to
 * cover H x W and cropped at the centre, in colour for 3 channels and in grey for 1, with transparency on white. Throws DATA_NOT_FOUND,
 * DATA_CORRUPT, and INVALID_OPTION for other shapes.
 */
export async function readImage(path: string, shape: readonly number[]): Promise<Uint8Array> {
  const [channels, height, width, ...more] = shape
  if ((channels !== 1 && channels !== 3) || !height || !width || more.length > 0)
    throw invalidOption('shape', shape, 'an image is a sample (1, H, W) or (3, H, W)')
  const { default: sharp } = await import('sharp')
  const bytes = await contentOf(path)
  let pixels: Uint8Array
  try {
    pixels = await sharp(bytes, { limitInputPixels: pixelLimit(bytes.length) })
      .autoOrient()
      .flatten({ background: 'white' })
      .resize(width, height, { fit: 'cover' })
      .toColourspace(channels === 1 ? 'b-w' : 'srgb')
      .raw({ depth: 'uchar' })
      .toBuffer()
  } catch (cause) {
    const fix = 'name a complete JPEG, PNG, WebP, GIF, AVIF, TIFF or SVG file'
    throw corruptFile(path, { expected: 'an image', found: messageOf(cause), fix, cause })
  }
  const sample = new Uint8Array(pixels.length)
  toPlanes(pixels, sample, { width, channels })
  return sample
}

async function contentOf(path: string): Promise<Buffer> {
  try {
    // Opening a pipe would block until it has a writer.
    if (!(await stat(path)).isFile()) throw new Error('it is not a file')
    return await readFile(path)
  } catch (cause) {
    throw unreadableFile(path, cause)
  }
}
