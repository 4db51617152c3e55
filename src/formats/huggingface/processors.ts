/** What an image processor of transformers does where its preprocessor_config.json does not say it. */
export interface Processor {
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
export function processorOf(type: string | undefined, architecture: string): Processor {
  const name = type === undefined ? BY_ARCHITECTURE[architecture] : /^(\w+?)(?:ImageProcessor|FeatureExtractor)/.exec(type)?.[1]
  return name !== undefined && Object.hasOwn(PROCESSORS, name) ? PROCESSORS[name]! : {}
}
