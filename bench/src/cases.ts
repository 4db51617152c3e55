import { unknownName } from './errors.js'

export type CasePrecision = 'f32' | 'bf16'

/** One configuration to measure: a model, samples per learner and step, learners, precision. */
export interface Case {
  /** Its name in filters and results: `resnet20 b16 k2 f32`. */
  readonly name: string
  readonly model: string
  readonly batch: number
  readonly learners: number
  readonly precision: CasePrecision
}

/** The data of a model: `count` random samples in memory, (C, H, W) of 8 bits, or (T) tokens of a text. */
export interface Workload {
  readonly sample: readonly number[]
  readonly count: number
  /** Of an image or of a text that has one; else the tokens that there are. */
  readonly classes: number
  /** The values of a token, where a text of tokens has a class; if omitted, the target of a token is the next one. */
  readonly tokens?: number
}

const DIGITS: Workload = { sample: [1, 28, 28], count: 60_000, classes: 10 }
const COLOURS: Workload = { sample: [3, 32, 32], count: 50_000, classes: 10 }
const PHOTOGRAPHS: Workload = { sample: [3, 224, 224], count: 2_000, classes: 1000 }
const LARGER: Workload = { ...PHOTOGRAPHS, sample: [3, 299, 299] }
const TEXT: Workload = { sample: [128], count: 20_000, classes: 65 }
const LABELLED_TEXTS: Workload = { sample: [256], count: 20_000, classes: 2, tokens: 256 }
/** The MLP has more samples: its epochs would be too short, and their ends would dominate the measurement. */
const WORKLOADS: Readonly<Record<string, Workload>> = {
  mlp: { ...DIGITS, count: 240_000 },
  lenet: DIGITS,
  resnet20: COLOURS,
  resnet20_gn: COLOURS,
  resnet32: COLOURS,
  resnet44: COLOURS,
  resnet56: COLOURS,
  vgg16: COLOURS,
  convnet: COLOURS,
  mobilenet_v2: COLOURS,
  mobilenet_v3_large: COLOURS,
  mobilenet_v3_small: COLOURS,
  efficientnet_b0: COLOURS,
  convnext_tiny: COLOURS,
  'vit-tiny': COLOURS,
  resnet18: PHOTOGRAPHS,
  resnet50: PHOTOGRAPHS,
  resnet50_gn: PHOTOGRAPHS,
  resnext50_32x4d: PHOTOGRAPHS,
  wide_resnet50_2: PHOTOGRAPHS,
  alexnet: PHOTOGRAPHS,
  inception_v3: LARGER,
  gpt: TEXT,
  lstm: TEXT,
  gru: TEXT,
  'text-classifier': LABELLED_TEXTS
}

/** What a bench measures of the kinds that no word names. */
export interface UsualCases {
  readonly models: readonly string[]
  readonly batches: readonly number[]
  readonly learners: readonly number[]
  readonly precisions: readonly CasePrecision[]
}

/** Of a bench that usually measures one case: the model at batch 16, two learners, float32. */
export function usually(model: string): UsualCases {
  return { models: [model], batches: [16], learners: [2], precisions: ['f32'] }
}

const USUAL: UsualCases = { models: ['mlp', 'lenet', 'resnet20'], batches: [8, 16], learners: [2], precisions: ['f32', 'bf16'] }

export type WorkUnit = 'images' | 'tokens'
/** Of training: texts are measured in tokens a second. */
export type RateUnit = `${WorkUnit}/s`

/** The units of work of a sample: an image, or the tokens of a text. */
export function unitsOf(model: string): { readonly unit: WorkUnit; readonly perSample: number } {
  const { sample } = workloadOf(model)
  return sample.length === 1 ? { unit: 'tokens', perSample: sample[0]! } : { unit: 'images', perSample: 1 }
}

export function rateUnitOf(model: string): RateUnit {
  return `${unitsOf(model).unit}/s`
}

/** What all learners together train on in one step, in the model's units of work. */
export function workOfStep({ model, batch, learners }: Pick<Case, 'model' | 'batch' | 'learners'>): number {
  return batch * learners * unitsOf(model).perSample
}

export function workloadOf(model: string): Workload {
  if (!isModel(model)) throw unknownName('model', model, MODELS)
  return WORKLOADS[model]!
}

/** The models that can be measured. */
export const MODELS = Object.keys(WORKLOADS)

function isModel(word: string): boolean {
  return Object.hasOwn(WORKLOADS, word)
}

/**
 * The cases that match the filters: all combinations of the named models, batches, learners and precisions. `lenet mlp b8` are two models at batch 8;
 * a kind that no word names has its usual values. Throws UNKNOWN_NAME.
 */
export function chosenCases(filters: readonly string[], usual: UsualCases = USUAL): readonly Case[] {
  const words = filters.flatMap((filter) => filter.split(/\s+/)).filter((word) => word !== '')
  const numbers = (letter: string): number[] =>
    words.filter((word) => new RegExp(`^${letter}[1-9]\\d{0,4}$`).test(word)).map((word) => Number(word.slice(1)))
  const models = words.filter(isModel)
  const precisions = words.filter((word): word is CasePrecision => word === 'f32' || word === 'bf16')
  const [batches, learners] = [numbers('b'), numbers('k')]
  if (models.length + precisions.length + batches.length + learners.length < words.length) {
    const unknown = words.find((word) => !isModel(word) && !/^(f32|bf16|[bk][1-9]\d{0,4})$/.test(word))
    throw unknownName('filter', unknown, [...MODELS, 'b4', 'b8', 'b16', 'b32', 'k1', 'k2', 'f32', 'bf16'])
  }
  return orUsual(models, usual.models).flatMap((model) =>
    orUsual(batches, usual.batches).flatMap((batch) =>
      orUsual(learners, usual.learners).flatMap((count) =>
        orUsual(precisions, usual.precisions).map((precision) => ({
          name: `${model} b${batch} k${count} ${precision}`,
          model,
          batch,
          learners: count,
          precision
        }))
      )
    )
  )
}

function orUsual<T>(some: readonly T[], usual: readonly T[]): readonly T[] {
  return some.length > 0 ? [...new Set(some)] : usual
}
