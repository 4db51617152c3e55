import { readFile, stat } from 'node:fs/promises'
import { ArbalestError, invalidOption, shown, type ErrorCode } from '../errors.js'
import { mostPixels } from './images/most-pixels.js'

/**
 * An image file (JPEG, PNG, WebP, GIF, AVIF, TIFF, SVG) as the pixels of one sample of shape (C, H, W), bytes plane by plane: turned as its
 * camera says, scaled to cover H x W and cropped at the centre, in colour for 3 channels and in shades of grey for 1; what is transparent
 * is white. Throws DATA_NOT_FOUND, DATA_CORRUPT, and INVALID_OPTION for other shapes.
 */
export async function readImage(path: string, shape: readonly number[]): Promise<Uint8Array> {
  const [channels, height, width, ...more] = shape
  if ((channels !== 1 && channels !== 3) || !height || !width || more.length > 0)
    throw invalidOption('shape', shape, 'an image is a sample (1, H, W) or (3, H, W)')
  const { default: sharp } = await import('sharp')
  const bytes = await contentOf(path)
  let pixels: Uint8Array
  try {
    pixels = await sharp(bytes, { limitInputPixels: mostPixels(bytes.length) })
      .autoOrient()
      .flatten({ background: 'white' })
      .resize(width, height, { fit: 'cover' })
      .toColourspace(channels === 1 ? 'b-w' : 'srgb')
      .raw({ depth: 'uchar' })
      .toBuffer()
  } catch (cause) {
    throw unreadable(path, cause)
  }
  return planes(pixels, channels, height * width)
}

/** (H*W, C) to (C, H*W). */
function planes(pixels: Uint8Array, channels: number, area: number): Uint8Array {
  const samples = new Uint8Array(channels * area)
  for (let channel = 0; channel < channels; channel++)
    for (let i = 0; i < area; i++) samples[channel * area + i] = pixels[i * channels + channel]!
  return samples
}

async function contentOf(path: string): Promise<Buffer> {
  try {
    // Opening a pipe would wait for its writer.
    if (!(await stat(path)).isFile()) throw new Error('it is not a file')
    return await readFile(path)
  } catch (cause) {
    throw refused('DATA_NOT_FOUND', `${path}: it cannot be read (${messageOf(cause)}); name a file that exists`, path, cause)
  }
}

function unreadable(path: string, cause: unknown): ArbalestError {
  const mend = 'name a JPEG, PNG, WebP, GIF, AVIF, TIFF or SVG file that is whole'
  return refused('DATA_CORRUPT', `${path}: it is no image that can be read (${messageOf(cause)}); ${mend}`, path, cause)
}

function refused(code: ErrorCode, message: string, file: string, cause: unknown): ArbalestError {
  return new ArbalestError(code, message, { cause, data: { file } })
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : shown(cause)
}
