import sharp, { type Metadata } from 'sharp'
import { ArbalestError, invalidOption, messageOf } from '../../errors.js'
import { corruptFile } from '../../formats/file-errors.js'
import { check } from '../../schema/faults.js'
import { group, option, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { kind, list } from '../../schema/values.js'
import { contentOf, isSide, LARGEST_SIDE, nameOf, type ImageSource } from './image-source.js'
import { decodingOf } from './pixels.js'

/** What a pixel of a mask has: a shade of grey, a number of the palette, or a colour. */
export type MaskValue = number | readonly [red: number, green: number, blue: number]

const isByte = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255
const maskValue = kind<MaskValue>(
  (value) => (Number.isInteger(value) && (value as number) >= 0) || (Array.isArray(value) && value.length === 3 && value.every(isByte)),
  'a shade of grey such as 255, or a colour such as [128, 0, 0]'
)

const maskOptions = group({
  /** What the pixels of each class have, in the order of the classes: `[0, 255]`, or colours such as `[[0, 0, 0], [128, 0, 0]]`. If omitted, the numbers are the classes. */
  values: option(list(maskValue, 'a list of shades of grey, or of colours', { min: 1 })),
  /** What pixels have that count for nothing, neither in training nor in a measurement: their class is -1. None if omitted. */
  ignore: option(maskValue)
})

/** How a mask is read. */
export interface MaskOptions extends GivenOptions<typeof maskOptions>, ToldByName {}

/** The class of pixels that count for nothing. */
const IGNORED = -1

/** As `readMask`. */
export async function maskClasses(mask: ImageSource, shape: readonly [number, number], given: MaskOptions): Promise<Int32Array> {
  const options = check(maskOptions, given)
  const [height, width, ...more]: readonly unknown[] = Array.isArray(shape) ? shape : []
  if (!isSide(height) || !isSide(width) || more.length > 0)
    throw invalidOption('shape', shape, `give [H, W], each from 1 to ${LARGEST_SIDE}`)
  const bytes = await contentOf(mask)
  try {
    const { pixels, palette } = await pixelsOf(bytes, { width, height })
    const classOf = pixels.channels === 1 ? classesOfNumbers(options) : classesOfColours(options, palette)
    return Int32Array.from({ length: width * height }, (_, at) => {
      const value = pixels.channels === 1 ? pixels.data[at]! : colourAt(pixels.data, at)
      const found = classOf(value)
      if (found !== undefined) return found
      throw new UnknownValue(`${shownValue(value, pixels.channels)} at row ${Math.floor(at / width)}, column ${at % width}`)
    })
  } catch (cause) {
    if (cause instanceof ArbalestError) throw cause
    const isKnown = cause instanceof UnknownValue
    throw corruptFile(nameOf(mask), {
      expected: isKnown ? 'a value of each class' : 'a mask',
      found: messageOf(cause).split('\n')[0]!.replace(/:$/, ''),
      fix: isKnown
        ? 'name what each class has as values, and what counts for nothing as ignore'
        : 'give a PNG, or another image without losses',
      cause
    })
  }
}

/** A pixel that is of no class. */
class UnknownValue extends Error {}

interface Pixels {
  readonly data: Uint8Array | Uint16Array
  readonly channels: 1 | 3
}

/** The pixels (H, W, channels), and the colours of a PNG that has a palette. */
async function pixelsOf(
  bytes: Uint8Array,
  size: { readonly width: number; readonly height: number }
): Promise<{ readonly pixels: Pixels; readonly palette: readonly number[] | undefined }> {
  const image = sharp(bytes, decodingOf(bytes.length))
  const metadata = await image.metadata()
  if (metadata.format === 'jpeg') throw new Error('a JPEG, which does not keep the values of its pixels')
  const palette = metadata.isPalette ? paletteOf(bytes) : undefined
  const nearest = image.autoOrient().removeAlpha().resize(size.width, size.height, { fit: 'cover', kernel: 'nearest' })
  if (!isGrey(metadata) || palette) {
    const data = await nearest.toColourspace('srgb').raw({ depth: 'uchar' }).toBuffer()
    return { pixels: { data, channels: 3 }, palette }
  }
  if (metadata.depth !== 'ushort')
    return { pixels: { data: await nearest.toColourspace('b-w').raw({ depth: 'uchar' }).toBuffer(), channels: 1 }, palette }
  const wide = await nearest.toColourspace('grey16').raw({ depth: 'ushort' }).toBuffer()
  return { pixels: { data: new Uint16Array(Uint8Array.from(wide).buffer), channels: 1 }, palette }
}

function isGrey({ space }: Metadata): boolean {
  return space === 'b-w' || space === 'grey16'
}

const PNG_SIGNATURE_BYTES = 8
/** Of a chunk of a PNG: its length, its name, and behind its data a checksum. */
const CHUNK = { name: 4, data: 8, checksum: 4 } as const

/** The colours of a PNG's palette in their order; undefined for another image. */
function paletteOf(bytes: Uint8Array): readonly number[] | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = PNG_SIGNATURE_BYTES; at + CHUNK.data <= file.length;) {
    const [length, name] = [file.readUInt32BE(at), file.toString('latin1', at + CHUNK.name, at + CHUNK.data)]
    const data = file.subarray(at + CHUNK.data, at + CHUNK.data + length)
    if (name === 'PLTE') return Array.from({ length: Math.floor(data.length / 3) }, (_, i) => colourAt(data, i))
    at += CHUNK.data + length + CHUNK.checksum
  }
  return undefined
}

/** Of a byte. */
const SHADES: readonly number[] = Array.from({ length: 256 }, (_, shade) => shade)

type ClassOf = (value: number) => number | undefined

function classesOfNumbers({ values, ignore }: MaskOptions): ClassOf {
  for (const [i, value] of (values ?? []).entries())
    if (typeof value !== 'number') throw invalidOption(`values[${i}]`, value, 'give a number: the mask is grey')
  if (ignore !== undefined && typeof ignore !== 'number') throw invalidOption('ignore', ignore, 'give a number: the mask is grey')
  const classes = values && new Map((values as readonly number[]).map((value, i) => [value, i]))
  return (value) => (value === ignore ? IGNORED : classes ? classes.get(value) : value)
}

/** Of colours by what is told of them. A number is that of the palette, or without one a shade of grey. */
function classesOfColours({ values, ignore }: MaskOptions, palette: readonly number[] | undefined): ClassOf {
  const classes = new Map<number, number>()
  const add = (parameter: string, value: MaskValue, number: number): void => {
    const colour = typeof value !== 'number' ? packed(value) : palette ? palette[value] : packed([value, value, value])
    if (colour === undefined) throw invalidOption(parameter, value, `the palette has the numbers 0 to ${palette!.length - 1}`)
    if (!classes.has(colour)) classes.set(colour, number)
  }
  if (ignore !== undefined) add('ignore', ignore, IGNORED)
  for (const [i, value] of (values ?? palette?.map((_, number) => number) ?? SHADES).entries()) add(`values[${i}]`, value, i)
  return (colour) => classes.get(colour)
}

/** Its three bytes as a number. */
function packed([red, green, blue]: readonly [number, number, number]): number {
  return (red << 16) | (green << 8) | blue
}

function colourAt(pixels: Uint8Array | Uint16Array, at: number): number {
  return packed([pixels[3 * at]!, pixels[3 * at + 1]!, pixels[3 * at + 2]!])
}

function shownValue(value: number, channels: 1 | 3): string {
  return channels === 1 ? String(value) : `(${value >> 16}, ${(value >> 8) & 255}, ${value & 255})`
}
