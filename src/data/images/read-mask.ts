import sharp, { type Metadata, type Sharp } from 'sharp'
import { ArbalestError, invalidOption, messageOf } from '../../errors.js'
import { corruptFile } from '../../formats/file-errors.js'
import { check } from '../../schema/faults.js'
import { contentOf, isSide, LARGEST_SIDE, nameOf, type ImageSource } from './image-source.js'
import { maskOptions, type MaskOptions, type MaskValue } from './mask-options.js'
import { decodingOf } from './pixels.js'
import { colourAt, indexed, packed } from './png-palette.js'

/** The class of pixels that count for nothing. */
const IGNORED = -1
const LARGEST_CLASS = 2 ** 31 - 1

/** Of a byte. */
const SHADES: readonly number[] = Array.from({ length: 256 }, (_, shade) => shade)

/** As `readMask`. */
export async function maskClasses(mask: ImageSource, shape: readonly [number, number], given: MaskOptions): Promise<Int32Array> {
  const options = check(maskOptions, given)
  const [height, width, ...more]: readonly unknown[] = Array.isArray(shape) ? shape : []
  if (!isSide(height) || !isSide(width) || more.length > 0)
    throw invalidOption('shape', shape, `give [H, W], each from 1 to ${LARGEST_SIDE}`)
  const bytes = await contentOf(mask)
  const to = new Int32Array(height * width)
  try {
    // Each pixel is the nearest one of the image.
    await writeClasses(bytes, (image) => image.resize(width, height, { fit: 'cover', kernel: 'nearest' }), to, { ...options, width })
    return to
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

/** Makes a mask, upright and without transparency, one of the wanted size. */
export type MaskScale = (image: Sharp) => Sharp

/** Writes the classes of a mask's pixels, which `scale` makes as many as `to` has, in rows of `width`. Throws UnknownValue. */
export async function writeClasses(
  bytes: Uint8Array,
  scale: MaskScale,
  to: Int32Array,
  { width, ...options }: MaskOptions & { readonly width: number }
): Promise<void> {
  const { of, values, colours } = await pixelsOf(bytes, scale)
  const classOf = CLASSES[of](options, colours)
  for (let at = 0; at < to.length; at++) {
    const value = values[at]!
    const found = classOf(value)
    if (found === undefined) throw new UnknownValue(`${shownValue(value, of)} at row ${Math.floor(at / width)}, column ${at % width}`)
    to[at] = found
  }
}

/** A pixel that is of no class. */
class UnknownValue extends Error {}

/** What the values of pixels are: shades of grey, numbers of a palette, or colours, each by its three bytes as a number. */
type ValueKind = 'grey' | 'palette' | 'colour'

interface Pixels {
  readonly of: ValueKind
  /** (H, W) */
  readonly values: ArrayLike<number>
  /** Of the palette. */
  readonly colours: readonly number[]
}

/** Values are no light, so no profile of colours changes them, and no transparency. */
async function pixelsOf(bytes: Uint8Array, scale: MaskScale): Promise<Pixels> {
  const metadata = await opened(bytes).metadata()
  const { format, isPalette, space, depth } = metadata
  if (format === 'jpeg') throw new Error('a JPEG, which does not keep the values of its pixels')
  const palette = isPalette ? indexed(bytes) : undefined
  if (palette) {
    const numbers = scaled(opened(palette.numbered), scale).toColourspace('srgb').extractChannel('red')
    return { of: 'palette', values: await numbers.raw({ depth: 'uchar' }).toBuffer(), colours: palette.colours }
  }
  const image = scaled(await opaque(opened(bytes), metadata), scale)
  if (space !== 'b-w' && space !== 'grey16') {
    const colours = await image.toColourspace('srgb').raw({ depth: 'uchar' }).toBuffer()
    return { of: 'colour', values: Int32Array.from({ length: colours.length / 3 }, (_, at) => colourAt(colours, at)), colours: [] }
  }
  return { of: 'grey', values: await shadesOf(image, depth), colours: [] }
}

function opened(bytes: Uint8Array): Sharp {
  return sharp(bytes, { ...decodingOf(bytes.length), ignoreIcc: true })
}

function scaled(image: Sharp, scale: MaskScale): Sharp {
  return scale(image.autoOrient().removeAlpha())
}

/** Without transparency, which scaling multiplies into the other channels. */
async function opaque(image: Sharp, { hasAlpha, space, depth }: Metadata): Promise<Sharp> {
  if (!hasAlpha) return image
  const isWide = space === 'grey16' && depth === 'ushort'
  const upright = image.autoOrient().removeAlpha()
  const plain = upright.toColourspace(isWide ? 'grey16' : space === 'b-w' ? 'b-w' : 'srgb')
  const { data, info } = await plain.raw({ depth: isWide ? 'ushort' : 'uchar' }).toBuffer({ resolveWithObject: true })
  const { width, height, channels } = info
  return sharp(isWide ? wordsOf(data) : data, { raw: { width, height, channels } })
}

/** Of one channel of any depth. */
async function shadesOf(image: Sharp, depth: Metadata['depth']): Promise<ArrayLike<number>> {
  if (depth === 'uchar') return image.toColourspace('b-w').raw({ depth }).toBuffer()
  if (depth === 'ushort') return wordsOf(await image.toColourspace('grey16').raw({ depth }).toBuffer())
  // As many bits as a number of any other depth has.
  const numbers = await image.toColourspace('b-w').raw({ depth: 'double' }).toBuffer()
  return new Float64Array(Uint8Array.from(numbers).buffer)
}

function wordsOf(bytes: Uint8Array): Uint16Array {
  return new Uint16Array(Uint8Array.from(bytes).buffer)
}

type ClassOf = (value: number) => number | undefined

const CLASSES: Readonly<Record<ValueKind, (options: MaskOptions, colours: readonly number[]) => ClassOf>> = {
  grey: classesOfShades,
  palette: classesOfPalette,
  colour: classesOfColours
}

function classesOfShades({ values, ignore }: MaskOptions): ClassOf {
  for (const [i, value] of (values ?? []).entries())
    if (typeof value !== 'number') throw invalidOption(`values[${i}]`, value, 'give a number: the mask is grey')
  if (ignore !== undefined && typeof ignore !== 'number') throw invalidOption('ignore', ignore, 'give a number: the mask is grey')
  const classes = values && new Map((values as readonly number[]).map((value, i) => [value, i]))
  const isClass = (value: number) => Number.isInteger(value) && value >= 0 && value <= LARGEST_CLASS
  return (value) => (value === ignore ? IGNORED : classes ? classes.get(value) : isClass(value) ? value : undefined)
}

/** Of numbers, and of colours that have them: several may have the same colour. */
function classesOfPalette(options: MaskOptions, colours: readonly number[]): ClassOf {
  return classesBy(options, colours.keys(), (value, parameter) => {
    if (typeof value !== 'number') return [...colours.keys()].filter((number) => colours[number] === packed(value))
    if (value < colours.length) return [value]
    throw invalidOption(parameter, value, `the palette has the numbers 0 to ${colours.length - 1}`)
  })
}

/** A number is a shade of grey. */
function classesOfColours(options: MaskOptions): ClassOf {
  return classesBy(options, SHADES, (value) => [packed(typeof value === 'number' ? [value, value, value] : value)])
}

/** By what is told of the values of pixels that something given stands for; `usual` is given where nothing is. The first that names a value counts. */
function classesBy(
  { values, ignore }: MaskOptions,
  usual: Iterable<number>,
  valuesOf: (given: MaskValue, parameter: string) => readonly number[]
): ClassOf {
  const classes = new Map<number, number>()
  const add = (given: MaskValue, parameter: string, found: number): void => {
    for (const value of valuesOf(given, parameter)) if (!classes.has(value)) classes.set(value, found)
  }
  if (ignore !== undefined) add(ignore, 'ignore', IGNORED)
  for (const [i, value] of (values ?? [...usual]).entries()) add(value, `values[${i}]`, i)
  return (value) => classes.get(value)
}

function shownValue(value: number, of: ValueKind): string {
  if (of === 'palette') return `number ${value} of the palette`
  return of === 'grey' ? String(value) : `(${value >> 16}, ${(value >> 8) & 255}, ${value & 255})`
}
