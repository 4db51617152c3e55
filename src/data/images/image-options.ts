import * as v from 'valibot'
import { usualCrop, type ImageEncoding } from '../../formats/encoding.js'
import { IMAGENET_PIXELS } from '../../model/zoo/family.js'
import type { Normalisation } from '../../model/normalisation.js'
import { Faults } from '../../schema/faults.js'
import { group, option, type CheckedOptions, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { either, kind, list, oneOf, real, text, truth, whole } from '../../schema/values.js'
import type { FeedOptions } from '../dataset.js'
import type { ColourJitter } from './colour-jitter.js'
import type { ImageRecipe } from './image-recipe.js'

const range = (max: number) =>
  kind<readonly [number, number]>((value) => {
    const [low, high] = Array.isArray(value) && value.length === 2 ? (value as [number, number]) : [NaN, NaN]
    return low > 0 && low <= high && high <= max
  }, `two numbers above 0 and up to ${max}, the smaller first`)

const crop = group({
  /** The least and the largest area, as fractions of the image's. */
  scale: option(range(1), { default: [0.08, 1] }),
  /** The least and the largest width for a height of 1. */
  ratio: option(range(1000), { default: [3 / 4, 4 / 3] })
})

export const imageCrop = either([v.literal(false), crop], (value) => (value === false ? 0 : 1))

const colour = group({
  brightness: option(real({ min: 0, max: 1 }), { default: 0 }),
  contrast: option(real({ min: 0, max: 1 }), { default: 0 }),
  saturation: option(real({ min: 0, max: 1 }), { default: 0 }),
  hue: option(real({ min: 0, max: 0.5 }), { default: 0 })
})

export const imageOptions = group({
  /** The folder's name if omitted. */
  name: option(text('a word or two'), { text: 'name of the data set', otherwise: "the folder's" }),
  /** Height and width of a sample in pixels; if omitted, `train` uses the size that suits the model, and `imageFolder` 224. */
  size: option(whole({ min: 1, max: 8192, unit: 'pixels' }), {
    text: 'height and width to which the images of a folder are cropped',
    flag: '--image-size <pixels>',
    otherwise: 'depends on the model'
  }),
  /** 3 for colour, 1 for grey; if omitted, those of the folder that `train` begins with (`initial`), else 3. */
  channels: option(
    kind<1 | 3>((value) => value === 1 || value === 3, '3 for colour or 1 for grey'),
    { text: '3 for colour, 1 for grey', otherwise: '3' }
  ),
  /** Normalisation for each channel, of pixels in 0 to 1; ImageNet's if omitted. */
  mean: option(list(real({}), 'a number for each channel'), { text: 'mean of each channel, of pixels in 0 to 1', otherwise: "ImageNet's" }),
  std: option(list(real({ above: 0 }), 'a number above 0 for each channel'), {
    text: 'standard deviation of each channel',
    otherwise: "ImageNet's"
  }),
  /** For training: a random crop, scaled to the size. If omitted, 8 to 100% of the area at ratios of 3:4 to 4:3; `false` for the centre crop. */
  crop: option(imageCrop, { text: 'random crops for training, or false', default: {} }),
  /** For training: whether each image is mirrored horizontally with probability 1/2; true if omitted. */
  flip: option(truth(), { text: 'random mirroring for training', default: true }),
  /** For training: ranges of random colour changes; none if omitted. Not for grey images. */
  colour: option(colour, { text: 'ranges of random colour changes for training', default: {} }),
  /** For the centre crop: the length to which the shorter side is scaled before the crop; size / 0.875 if omitted. */
  resize: option(real({ above: 0, unit: 'pixels' }), {
    text: 'length of the shorter side before the centre crop, in pixels',
    otherwise: 'size / 0.875'
  }),
  /** For the centre crop: whether both sides of an image are scaled to `resize`, which distorts an image that is not square. If omitted, as the folder says that `train` begins with (`initial`), else false. */
  stretch: option(truth(), {
    text: 'scale both sides of images to images.resize, which distorts them',
    otherwise: 'false'
  }),
  /** The fraction of each class that is held out if there is no folder of test images; 0.1 if omitted. */
  testFraction: option(real({ above: 0, below: 1 }), { text: 'fraction of each class that is held out for tests', default: 0.1 }),
  /** Seeds the choice of the images that are held out; 0 if omitted. */
  seed: option(whole(), { text: 'of the choice of the images that are held out', default: 0 }),
  /** Whether to read every image now, so that an unreadable one does not fail in the middle of an epoch; false if omitted. */
  check: option(truth(), { text: 'read every image before training', default: false }),
  /** If an image cannot be read, `fail` (if omitted) ends the job and names it; `skip` uses the next image instead. */
  onBadImage: option(oneOf(['fail', 'skip']), {
    text: 'fail, or skip images that cannot be read',
    flag: '--on-bad-image <what>',
    default: 'fail'
  }),
  /** Threads that read samples; if omitted, as many as there are cores, but fewer than libuv's threads, which decode the images. */
  threads: option(whole({ min: 1, max: 1024 }), {
    text: 'threads that read images',
    otherwise: 'one for each core',
    also: ['numWorkers', 'num_workers']
  }),
  /** Batches that are read ahead for each learner; 4 if omitted. */
  prefetch: option(whole({ min: 1 }), { text: 'batches that are read ahead for each learner', otherwise: '4', also: ['ahead'] }),
  /** Bytes of memory that keep decoded test samples; an eighth of the free memory if omitted. */
  cache: option(whole(), { text: 'bytes of memory for decoded test samples', otherwise: 'an eighth of the free memory' })
})

/** How the images of a folder become samples (C, H, W). */
export interface ImageFolderOptions extends GivenOptions<typeof imageOptions>, ToldByName {}

type Checked = CheckedOptions<typeof imageOptions> & { readonly size: number; readonly channels: 1 | 3 }

/** Checked options with defaults. */
export interface ImageFolderPlan {
  readonly name: string | undefined
  readonly recipe: ImageRecipe
  readonly encoding: ImageEncoding
  readonly normalisation: Normalisation
  readonly testFraction: number
  readonly seed: number
  readonly check: boolean
  readonly feed: FeedOptions
}

const IMAGENET_GREY = { mean: [0.449], std: [0.226] }

/** Throws INVALID_OPTION and UNKNOWN_NAME with every fault; `path` precedes the options' names. */
export function imageFolderPlan(given: ImageFolderOptions, path = ''): ImageFolderPlan {
  const faults = new Faults()
  const options = { size: 224, channels: 3 as const, ...faults.checked(imageOptions, given, { path }) }
  refuseContradictions(options, (name, received, fix) => faults.refuse(path === '' ? name : `${path}.${name}`, received, fix))
  faults.throwAny()
  const { name, size, channels, flip, crop: cropped, colour: jitter, stretch = false, testFraction, seed, check } = options
  const resize = resizeOf(options)
  const recipe = { size, channels, flip, centre: size / resize, stretch, crop: cropped, colour: jitter }
  return {
    name,
    recipe,
    encoding: { kind: 'image', resize, ...(stretch && { stretch }) },
    normalisation: normalisationOf(options),
    testFraction,
    seed,
    check,
    feed: feedOf(options)
  }
}

function resizeOf({ size, resize = usualCrop(size).resize }: Checked): number {
  return resize
}

function normalisationOf({ mean, std, channels }: Checked): Normalisation {
  const usual = channels === 1 ? IMAGENET_GREY : IMAGENET_PIXELS
  return { mean: mean ?? usual.mean, std: std ?? usual.std }
}

function refuseContradictions(options: Checked, refuse: (name: string, received: unknown, fix: string) => void): void {
  const { size, resize, channels, colour: jitter } = options
  if (resize !== undefined && resize < size) refuse('resize', resize, `use a number of pixels of at least the size, ${size}`)
  for (const name of ['mean', 'std'] as const) {
    const { [name]: numbers } = options
    if (numbers !== undefined && numbers.length !== channels) refuse(name, numbers, `give ${channels} numbers, one for each channel`)
  }
  if (channels === 1)
    for (const [name, changes] of Object.entries(jitter satisfies ColourJitter))
      if (changes > 0) refuse(`colour.${name}`, changes, 'omit it: grey images have no colours')
}

function feedOf({ threads, prefetch, cache, onBadImage: onBadSample }: Checked): FeedOptions {
  return {
    onBadSample,
    ...(threads !== undefined && { threads }),
    ...(prefetch !== undefined && { prefetch }),
    ...(cache !== undefined && { cache })
  }
}
