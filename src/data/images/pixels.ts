import type { SharpOptions } from 'sharp'
import { GREY_WEIGHTS, type ColourTransform } from './colour-jitter.js'

/** 33 megapixels, which take about 300 MB while an image is decoded: allowed for files of any size. */
const ALWAYS_ALLOWED = 2 ** 25
/** The highest compression of deflate for one-byte pixels, which other formats reach with flat colours. */
const MAX_PIXELS_PER_BYTE = 1032
/** The most pixels that libvips accepts. */
const LIBVIPS_LIMIT = 0x3fff ** 2

/** The most pixels that an image file of `bytes` bytes may have, so that a small file with a forged header cannot take gigabytes. */
function pixelLimit(bytes: number): number {
  return Math.min(LIBVIPS_LIMIT, Math.max(ALWAYS_ALLOWED, MAX_PIXELS_PER_BYTE * bytes))
}

/** How an image file of `bytes` bytes is decoded. What decoders only warn of, such as bytes between two parts of a JPEG, is no fault: other programs show such images, too. */
export function decodingOf(bytes: number): SharpOptions {
  return { failOn: 'error', limitInputPixels: pixelLimit(bytes) }
}

export interface PlaneOptions {
  readonly width: number
  /** Of the result. */
  readonly channels: 1 | 3
  /** Whether to mirror the image horizontally. */
  readonly flip?: boolean
  /** A change of colours, for three channels. */
  readonly colour?: ColourTransform | undefined
}

/** Converts pixels (height, width, 3), as decoders give them, to planes (channels, height, width), as models take them: one for each colour, or one of grey. */
export function toPlanes(pixels: Uint8Array, to: Uint8Array, { width, channels, flip = false, colour }: PlaneOptions): void {
  const area = pixels.length / 3
  const write = channels === 1 ? greyWriter(pixels) : colour ? colourTransformer(pixels, colour) : colourWriter(pixels)
  for (let row = 0; row < area; row += width) {
    for (let column = 0; column < width; column++) {
      const at = row + (flip ? width - 1 - column : column)
      write(3 * (row + column), to, at, area)
    }
  }
}

/** Writes a pixel, whose bytes begin at `from`, to its place in each plane. */
type PixelWriter = (from: number, to: Uint8Array, at: number, area: number) => void

function colourWriter(pixels: Uint8Array): PixelWriter {
  return (from, to, at, area) => {
    to[at] = pixels[from]!
    to[area + at] = pixels[from + 1]!
    to[2 * area + at] = pixels[from + 2]!
  }
}

/** The luminance of the colours as they are stored, by GREY_WEIGHTS in 16 bits: the same numbers as Pillow and torchvision give. */
function greyWriter(pixels: Uint8Array): PixelWriter {
  return (from, to, at) => {
    to[at] = (19595 * pixels[from]! + 38470 * pixels[from + 1]! + 7471 * pixels[from + 2]! + 0x8000) >> 16
  }
}

function colourTransformer(pixels: Uint8Array, { matrix, contrast }: ColourTransform): PixelWriter {
  const scaled = matrix.map((weight) => weight * contrast) as unknown as ColourTransform['matrix']
  const [rr, rg, rb, gr, gg, gb, br, bg, bb] = scaled
  const offset = contrast === 1 ? 0 : (1 - contrast) * meanGrey(pixels, matrix)
  return (from, to, at, area) => {
    const r = pixels[from]!
    const g = pixels[from + 1]!
    const b = pixels[from + 2]!
    to[at] = toByte(rr * r + rg * g + rb * b + offset)
    to[area + at] = toByte(gr * r + gg * g + gb * b + offset)
    to[2 * area + at] = toByte(br * r + bg * g + bb * b + offset)
  }
}

function meanGrey(pixels: Uint8Array, [rr, rg, rb, gr, gg, gb, br, bg, bb]: ColourTransform['matrix']): number {
  const sums = [0, 0, 0] as [number, number, number]
  for (let i = 0; i < pixels.length; i += 3) {
    sums[0] += pixels[i]!
    sums[1] += pixels[i + 1]!
    sums[2] += pixels[i + 2]!
  }
  const [r, g, b] = sums.map((sum) => (3 * sum) / pixels.length) as [number, number, number]
  return (
    GREY_WEIGHTS[0] * (rr * r + rg * g + rb * b) +
    GREY_WEIGHTS[1] * (gr * r + gg * g + gb * b) +
    GREY_WEIGHTS[2] * (br * r + bg * g + bb * b)
  )
}

function toByte(value: number): number {
  return value <= 0 ? 0 : value >= 255 ? 255 : Math.round(value)
}
