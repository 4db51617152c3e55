import { ArbalestError, invalidOption } from '../../errors.js'
import { check } from '../../schema/faults.js'
import { group, option, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { real } from '../../schema/values.js'
import { shownShape } from '../layer-checks.js'
import type { Model } from '../model.js'
import type { Normalisation } from '../normalisation.js'

/** The samples and classes that a model of the zoo is built for. */
export interface ZooShape {
  /** One sample's shape: (C, H, W), (F), or (T) tokens. */
  readonly input: readonly number[]
  /** How many values a token has, if samples are tokens of a tokenizer and have classes of their own: what the data's encoding says. */
  readonly tokens?: number
  /** Of each sample, or of each token; 0 if the targets are numbers. */
  readonly classes: number
  /** One target's shape, if the targets are numbers. */
  readonly target?: readonly number[]
}

/** A shape as a function of the zoo is given it, maybe from JavaScript. Throws INVALID_OPTION for what is none. */
export function checkedShape(given: ZooShape): ZooShape {
  if (typeof given !== 'object' || given === null)
    throw invalidOption('shape', given, "give one sample's shape and the number of classes, such as { input: [1, 28, 28], classes: 10 }")
  const { input, classes } = given
  if (!Array.isArray(input)) throw invalidOption('input', input, "give one sample's shape, such as [1, 28, 28]")
  if (!Number.isSafeInteger(classes) || classes < 0) throw invalidOption('classes', classes, 'give the number of classes')
  return given
}

const dropoutOptions = group({
  /** The fraction of the features that dropout zeroes. */
  dropout: option(real({ min: 0, below: 1 }))
})

/** What models with dropout before their last layers take. */
export interface DropoutOptions extends GivenOptions<typeof dropoutOptions>, ToldByName {}

/** The rate of dropout. Throws INVALID_OPTION, also for any other option. */
export function dropoutRate(given: DropoutOptions, usual: number): number {
  return check(dropoutOptions, given).dropout ?? usual
}

/** How a model is trained, for options that are left out. */
export interface Defaults {
  /** Samples a learner takes in a step. */
  readonly batch: number
  readonly learningRate: number
  /** How the rate changes over the run. */
  readonly schedule: 'multistep' | 'one-cycle'
  readonly momentum: number
  readonly weightDecay: number
  readonly epochs: number
  /** Shares of the run after which `multistep` multiplies the rate by `gamma`, so that a shorter run has them too. */
  readonly milestones: readonly number[]
  readonly gamma: number
}

/** Models of one architecture; a file of this folder defines one or two, and `families.ts` lists them. */
export interface ZooFamily {
  /** Its models by name. Their layers bear PyTorch's names, so that its weights fit. */
  readonly models: Readonly<Record<string, (shape: ZooShape, size?: object) => Model>>
  /** Whether a model whose name is not listed is one of the family. */
  readonly includes?: (name: string) => boolean
  /** The data that its models are usually trained on. */
  readonly usual: ZooShape
  readonly defaults: Defaults
  /** Of the pixels of colour images, from 0 to 1; for samples whose normalisation is not known. */
  readonly normalisation?: Normalisation
  /** Names of tensors that another library's files have, and that its models have no use for: they are passed over when weights are read. */
  readonly leftOut?: RegExp
  /** Checks the option `size`, for a family that has sizes. Throws INVALID_OPTION; `path` is that of the size. */
  readonly checkSize?: (size: object, path: string) => void
}

/**
 * Momentum is the learners' and not the central model's: with 0.9 on both, two learners are stable only at rates an order of magnitude
 * smaller.
 */
export const COMMON = { schedule: 'multistep', momentum: 0.9, gamma: 0.1 } as const

/** Of a small network, and of a model that is not the zoo's. */
export const SMALL: Defaults = { ...COMMON, batch: 16, learningRate: 0.01, weightDecay: 5e-4, epochs: 4, milestones: [0.75] }

/** The usual 90 epochs of ImageNet, at the rate of 0.1 for 256 samples scaled to 32 (Goyal et al., 2017). */
export const IMAGENET: Defaults = {
  ...COMMON,
  batch: 32,
  learningRate: 0.0125,
  weightDecay: 1e-4,
  epochs: 90,
  milestones: [1 / 3, 2 / 3, 8 / 9]
}

/** Of models of photographs that have layer norms in the place of batch norms. */
export const WITH_LAYER_NORMS: Defaults = {
  ...COMMON,
  schedule: 'one-cycle',
  batch: 32,
  learningRate: 0.05,
  weightDecay: 1e-4,
  epochs: 100,
  milestones: [0.5, 0.8]
}

/** Mean and std of ImageNet's pixels, channel by channel, on the scale of 0 to 1: what torchvision's weights were trained with. */
export const IMAGENET_PIXELS = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] } as const

/**
 * Height and width of an image, whose sides must keep the model's last features at the size that its classifier was made for. Throws SHAPE_MISMATCH with
 * the sides that do.
 */
export function fittingSides(
  model: string,
  input: readonly number[],
  { least, most }: { readonly least: number; readonly most: number }
): readonly [number, number] {
  const [, height = 0, width = 0] = input
  if (input.length === 3 && [height, width].every((side) => side >= least && side <= most)) return [height, width]
  throw new ArbalestError(
    'SHAPE_MISMATCH',
    `model ${model}: received input ${shownShape(input)}; it takes images (C, H, W) of ${least} to ${most} pixels a side: scale the images, or use another model`,
    { data: { model, received: input, least, most } }
  )
}
