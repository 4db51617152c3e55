import { ArbalestError, invalidOption, shown } from '../errors.js'

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
  let pixels: Uint8Array
  try {
    pixels = await sharp(path)
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

function unreadable(path: string, cause: unknown): ArbalestError {
  const why = cause instanceof Error ? cause.message : shown(cause)
  const missing = /missing/.test(why)
  const mend = missing ? 'name a file that exists' : 'name a JPEG, PNG, WebP, GIF, AVIF, TIFF or SVG file that is whole'
  return new ArbalestError(missing ? 'DATA_NOT_FOUND' : 'DATA_CORRUPT', `${path}: it is no image that can be read (${why}); ${mend}`, {
    cause,
    data: { file: path }
  })
}
