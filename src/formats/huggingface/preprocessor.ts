import * as v from 'valibot'
import type { Normalisation } from '../../model/normalisation.js'
import type { ImageEncoding } from '../encoding.js'
import { corruptFile } from '../file-errors.js'
import { checked, type PlainObject } from '../json-file.js'

/** How a folder's model takes the pixels of images. */
export interface FolderPixels {
  readonly normalisation: Normalisation
  /** Height and width of a sample. */
  readonly size?: number
  /** The length of the shorter side before the centre crop, or of both. */
  readonly resize?: number
  /** Whether it is that of both sides, which distorts an image that is not square. */
  readonly stretch?: true
}

/** Whose images they are. */
interface ImagesOf {
  readonly architecture: string
  readonly channels: number
}

const pixels = v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(8192))
const side = v.looseObject({ height: v.optional(pixels), width: v.optional(pixels), shortest_edge: v.optional(pixels) })
const numbers = v.pipe(v.array(v.pipe(v.number(), v.finite())), v.maxLength(1024))

const schema = v.looseObject({
  image_processor_type: v.nullish(v.string()),
  // As it was called before.
  feature_extractor_type: v.nullish(v.string()),
  do_rescale: v.optional(v.boolean(), true),
  rescale_factor: v.optional(v.pipe(v.number(), v.finite(), v.gtValue(0)), 1 / 255),
  do_normalize: v.optional(v.boolean(), true),
  image_mean: v.nullish(numbers),
  image_std: v.nullish(
    v.pipe(
      numbers,
      v.everyItem((item) => item > 0, 'numbers above 0')
    )
  ),
  size: v.nullish(v.union([pixels, side])),
  crop_size: v.nullish(v.union([pixels, side])),
  do_center_crop: v.nullish(v.boolean()),
  crop_pct: v.nullish(v.pipe(v.number(), v.gtValue(0), v.maxValue(1)))
})

type Given = v.InferOutput<typeof schema>

/** What an image processor of transformers does where its preprocessor_config.json does not say it. */
interface Processor {
  /** One number for all channels, or one for each. Absent where this is not known. */
  readonly mean?: readonly number[]
  readonly std?: readonly number[]
  /** Whether a size that is one number is that of both sides of an image; else it is that of the shorter one. */
  readonly square?: true
  /** The share of the shorter side that is kept where no crop is said. */
  readonly share?: number
  /** The crop's height and width; no crop if omitted. */
  readonly crop?: number
}

const HALF = { mean: [0.5], std: [0.5] } as const

const PROCESSORS: Readonly<Record<string, Processor>> = {
  ViT: { ...HALF, square: true },
  DeiT: { ...HALF, square: true, crop: 224 },
  ConvNext: { ...HALF, share: 0.875 },
  CLIP: { mean: [0.48145466, 0.4578275, 0.40821073], std: [0.26862954, 0.26130258, 0.27577711], crop: 224 }
}

/** Those of the architectures, which a file need not name. */
const BY_ARCHITECTURE: Readonly<Record<string, string>> = { vit: 'ViT', resnet: 'ConvNext' }

/** The processor of a type, such as `ViTImageProcessorFast` or `ViTFeatureExtractor`, as it was called before; of an architecture if there is no type. */
function processorOf(type: string | undefined, architecture: string): Processor {
  const name = type === undefined ? BY_ARCHITECTURE[architecture] : /^(\w+?)(?:ImageProcessor|FeatureExtractor)/.exec(type)?.[1]
  return name !== undefined && Object.hasOwn(PROCESSORS, name) ? PROCESSORS[name]! : {}
}

/** Pixels from which on `crop_pct` crops nothing, and images are distorted instead: transformers has it so. */
const LEAST_UNCROPPED = 384

/** Reads how a preprocessor_config.json of an architecture scales, crops and normalises images of this many channels. Throws DATA_CORRUPT. */
export function pixelsOf(preprocessor: PlainObject, file: string, { architecture, channels }: ImagesOf): FolderPixels {
  const given = checked(schema, preprocessor, file)
  const processor = processorOf(given.image_processor_type ?? given.feature_extractor_type ?? undefined, architecture)
  const normalisation = normalisationOf(given, processor, file, channels)
  const { size, crop_size, do_center_crop, crop_pct } = given
  const cropped = (do_center_crop ?? processor.crop !== undefined) ? (sideOf(crop_size) ?? processor.crop) : undefined
  const scaled = sideOf(size)
  if (scaled === undefined) return { normalisation, ...(cropped !== undefined && { size: cropped }) }
  const share = cropped === undefined ? (crop_pct ?? processor.share) : undefined
  const isOfBoth = typeof size === 'number' ? processor.square === true : size?.shortest_edge === undefined
  const stretch = isOfBoth || (share !== undefined && scaled >= LEAST_UNCROPPED)
  const resize = share === undefined || stretch ? scaled : Math.trunc(scaled / share)
  const length = cropped ?? scaled
  return { normalisation, size: length, resize: Math.max(length, resize), ...(stretch && { stretch }) }
}

/** Converts the folder's normalisation to pixels from 0 to 1. The folder may scale pixels to another range. */
function normalisationOf(given: Given, { mean, std }: Processor, file: string, channels: number): Normalisation {
  const { do_rescale, rescale_factor, do_normalize, image_mean, image_std } = given
  const white = 255 * (do_rescale ? rescale_factor : 1)
  const each = (where: string, said: readonly number[] | null | undefined, otherwise: number): readonly number[] => {
    const list = do_normalize ? said : []
    if (list === undefined || list === null)
      throw corruptFile(file, { where, expected: 'a number for each channel, or do_normalize: false', found: 'none', fix: 'give them' })
    if (list.length > 1 && list.length !== channels)
      throw corruptFile(file, {
        where,
        expected: channels === 1 ? 'a number for 1 channel' : `a number for each of ${channels} channels`,
        found: `${list.length}`
      })
    if (list.length === 0 && (white === 1 || otherwise === 0)) return []
    return Array.from({ length: channels }, (_, i) => (list[i] ?? list[0] ?? otherwise) / white)
  }
  return { mean: each('image_mean', image_mean ?? mean, 0), std: each('image_std', image_std ?? std, 1) }
}

type Side =
  number | { readonly height?: number | undefined; readonly width?: number | undefined; readonly shortest_edge?: number | undefined }

function sideOf(size: Side | null | undefined): number | undefined {
  return typeof size === 'number' ? size : (size?.shortest_edge ?? size?.height)
}

/**
 * Makes the preprocessor_config.json of a model of images. The processor of CLIP, which suits every model, crops square images as `predict` does; those of ViT and DeiT distort them.
 * Images of other shapes are scaled to the model's size.
 */
export function preprocessorConfig(
  { mean, std }: Normalisation,
  [channels = 1, height = 1, width = 1]: readonly number[],
  encoding: ImageEncoding | undefined
): PlainObject {
  const each = (given: readonly number[], otherwise: number) =>
    Array.from({ length: channels }, (_, i) => given[i] ?? given[0] ?? otherwise)
  const scaled = Math.round(encoding?.resize ?? height)
  const crop = { do_center_crop: true, crop_size: { height, width } }
  const centre = { image_processor_type: 'CLIPImageProcessor', do_convert_rgb: channels === 3, size: { shortest_edge: scaled }, ...crop }
  const stretched = { image_processor_type: 'DeiTImageProcessor', size: { height: scaled, width: scaled }, ...crop }
  const whole = { image_processor_type: 'ViTImageProcessor', size: { height, width } }
  const isWhole = height !== width || (encoding?.stretch === true && scaled === height)
  return {
    ...(isWhole ? whole : encoding?.stretch === true ? stretched : centre),
    do_rescale: true,
    rescale_factor: 1 / 255,
    do_resize: true,
    resample: 2,
    do_normalize: true,
    image_mean: each(mean, 0),
    image_std: each(std, 1)
  }
}
