import { invalidOption } from '../../errors.js'
import type { Dataset, FeedOptions } from '../dataset.js'
import type { ColourJitter } from './colour-jitter.js'
import type { RandomCrop } from './random-crop.js'
import type { ImageRecipe } from './image-reader.js'
import { IMAGENET_PIXELS } from '../../model/zoo/family.js'

/** How the images of a folder become samples (C, H, W). */
export interface ImageFolderOptions extends Omit<FeedOptions, 'onBadSample'> {
  /** The folder's name if omitted. */
  readonly name?: string
  /** Height and width of a sample in pixels; if omitted, `train` uses what suits the model, and `imageFolder` 224. */
  readonly size?: number
  /** 3 for colour (if omitted), 1 for grey. */
  readonly channels?: 1 | 3
  /** Normalisation for each channel, of pixels in 0 to 1; ImageNet's if omitted. */
  readonly mean?: readonly number[]
  readonly std?: readonly number[]
  /** For training: a random crop, scaled to the size. If omitted, 8 to 100% of the area at ratios of 3:4 to 4:3; `false` for the centre crop. */
  readonly crop?: Partial<RandomCrop> | false
  /** For training: whether each image is mirrored horizontally with probability 1/2; true if omitted. */
  readonly flip?: boolean
  /** For training: ranges of random colour changes; none if omitted. Not for grey images. */
  readonly colour?: Partial<ColourJitter>
  /** For the centre crop: the length to which the shorter side is scaled before the crop; size / 0.875 if omitted. */
  readonly resize?: number
  /** The share of each class that is held out if there is no folder of test images; 0.1 if omitted. */
  readonly testFraction?: number
  /** Seeds the choice of the images that are held out; 0 if omitted. */
  readonly seed?: number
  /** Whether to read every image now, so that an unreadable one does not fail in the middle of an epoch; false if omitted. */
  readonly check?: boolean
  /** If an image cannot be read, `fail` (if omitted) ends the job and names it; `skip` uses the next image instead. */
  readonly onBadImage?: 'fail' | 'skip'
}

/** Checked options with defaults. */
export interface ImageFolderPlan {
  readonly name: string | undefined
  readonly recipe: ImageRecipe
  readonly normalisation: Pick<Dataset, 'mean' | 'std'>
  readonly testFraction: number
  readonly seed: number
  readonly check: boolean
  readonly feed: FeedOptions
}

const IMAGENET_GREY = { mean: [0.449], std: [0.226] }
const CROP: RandomCrop = { scale: [0.08, 1], ratio: [3 / 4, 4 / 3] }
const NO_JITTER: ColourJitter = { brightness: 0, contrast: 0, saturation: 0, hue: 0 }

/** Throws INVALID_OPTION; the error names the option with `path` before it, such as `images.`. */
export function imageFolderPlan(options: ImageFolderOptions, path = ''): ImageFolderPlan {
  const refuse = (option: string, received: unknown, fix: string) => invalidOption(`${path}${option}`, received, fix)
  const { name, channels = 3, testFraction = 0.1, seed = 0, check = false, onBadImage = 'fail' } = options
  if (name !== undefined && (typeof name !== 'string' || name === '')) throw refuse('name', name, 'use a word or two')
  if (channels !== 1 && channels !== 3) throw refuse('channels', channels, 'use 3 for colour or 1 for grey')
  if (!(testFraction > 0 && testFraction < 1)) throw refuse('testFraction', testFraction, 'use a number between 0 and 1')
  if (!Number.isSafeInteger(seed) || seed < 0) throw refuse('seed', seed, 'use a whole number from 0 to 2^53 - 1')
  if (typeof check !== 'boolean') throw refuse('check', check, 'use true or false')
  if (onBadImage !== 'fail' && onBadImage !== 'skip') throw refuse('onBadImage', onBadImage, 'use fail or skip')
  const recipe = recipeOf(options, channels, refuse)
  const normalisation = normalisationOf(options, channels, refuse)
  return { name, recipe, normalisation, testFraction, seed, check, feed: feedOf(options, onBadImage, refuse) }
}

type Refuse = (option: string, received: unknown, fix: string) => Error

function recipeOf(options: ImageFolderOptions, channels: 1 | 3, refuse: Refuse): ImageRecipe {
  const { size = 224, flip = true, crop = {}, colour = {} } = options
  if (!Number.isInteger(size) || size < 1 || size > 8192) throw refuse('size', size, 'use a whole number of pixels from 1 to 8192')
  const { resize = Math.round(size / 0.875) } = options
  if (!(resize >= size)) throw refuse('resize', resize, `use a number of pixels of at least the size, ${size}`)
  if (typeof flip !== 'boolean') throw refuse('flip', flip, 'use true or false')
  return { size, channels, flip, centre: size / resize, crop: cropOf(crop, refuse), colour: colourOf(colour, channels, refuse) }
}

function cropOf(crop: ImageFolderOptions['crop'], refuse: Refuse): RandomCrop | false {
  if (crop === false) return false
  const { scale, ratio } = { ...CROP, ...crop }
  checkRange('crop.scale', scale, 1, refuse)
  checkRange('crop.ratio', ratio, 1000, refuse)
  return { scale, ratio }
}

function checkRange(option: string, range: unknown, most: number, refuse: Refuse): void {
  const [low, high] = Array.isArray(range) && range.length === 2 ? (range as [number, number]) : [NaN, NaN]
  if (!(low > 0 && low <= high && high <= most)) throw refuse(option, range, `use two numbers above 0 and up to ${most}, the smaller first`)
}

function colourOf(colour: Partial<ColourJitter>, channels: number, refuse: Refuse): ColourJitter {
  const all = { ...NO_JITTER, ...colour }
  for (const [name, range] of Object.entries(all)) {
    const most = name === 'hue' ? 0.5 : 1
    if (!Object.hasOwn(NO_JITTER, name)) throw refuse(`colour.${name}`, range, `use only ${Object.keys(NO_JITTER).join(', ')}`)
    if (!(range >= 0 && range <= most)) throw refuse(`colour.${name}`, range, `use a number from 0 to ${most}`)
    if (range > 0 && channels === 1) throw refuse(`colour.${name}`, range, 'omit it: grey images have no colours')
  }
  return all
}

function normalisationOf(options: ImageFolderOptions, channels: number, refuse: Refuse): Pick<Dataset, 'mean' | 'std'> {
  const { mean, std } = { ...(channels === 1 ? IMAGENET_GREY : IMAGENET_PIXELS), ...definedOnly(options) }
  if (mean.length !== channels || !mean.every(Number.isFinite)) throw refuse('mean', mean, `give ${channels} numbers, one for each channel`)
  if (std.length !== channels || !std.every((d) => d > 0 && Number.isFinite(d)))
    throw refuse('std', std, `give ${channels} numbers above 0, one for each channel`)
  return { mean, std }
}

function definedOnly({ mean, std }: ImageFolderOptions): Partial<Pick<Dataset, 'mean' | 'std'>> {
  return { ...(mean && { mean }), ...(std && { std }) }
}

function feedOf({ threads, prefetch, cache }: ImageFolderOptions, onBadSample: 'fail' | 'skip', refuse: Refuse): FeedOptions {
  const whole = (option: string, value: number | undefined, least: number) => {
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= least))
      throw refuse(option, value, `use a whole number of at least ${least}`)
  }
  whole('threads', threads, 1)
  whole('prefetch', prefetch, 1)
  whole('cache', cache, 0)
  return {
    onBadSample,
    ...(threads !== undefined && { threads }),
    ...(prefetch !== undefined && { prefetch }),
    ...(cache !== undefined && { cache })
  }
}
