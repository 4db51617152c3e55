import {
  batchNorm2d,
  conv2d,
  defineModel,
  flatten,
  linear,
  maxPool2d,
  oneCycle,
  relu,
  type Dataset,
  type Layer,
  type Model,
  type TrainOptions
} from '../arbalest.js'

/** The numbers of the recipe, which a trial may replace. */
export interface Recipe {
  /** The channels of the three blocks. */
  readonly widths: readonly [number, number, number]
  readonly learners: number
  /** Of one learner. */
  readonly batch: number
  readonly epochs: number
  /** The highest learning rate. */
  readonly learningRate: number
  readonly momentum: number
  readonly weightDecay: number
  readonly labelSmoothing: number
  /** The fixed scale of every batch norm but the last one: the learning rate of their shifts is divided by its square. */
  readonly scale: number
  /** The fixed scale of the last batch norm, which is that of the logits too. */
  readonly headScale: number
  /** Pixels by which training images are shifted at most. */
  readonly translation: number
  /** The decay of the average that is measured, for each round. */
  readonly averageDecay: number
  /** How the learners are kept together, in every step. */
  readonly synchroniser: 'ssgd' | 'sma'
}

export const RECIPE: Recipe = {
  widths: [64, 256, 256],
  learners: 8,
  batch: 64,
  epochs: 16,
  learningRate: 0.75,
  momentum: 0.85,
  weightDecay: 0.00133,
  labelSmoothing: 0.2,
  scale: 1 / 8,
  headScale: 1 / 9,
  translation: 2,
  averageDecay: 0.98,
  synchroniser: 'ssgd'
}

const WHITENING = 2
/** Each patch of 2 x 2 pixels in 3 colours has 12 numbers; a filter and its negative for each. */
export const WHITENING_FILTERS = 2 * 3 * WHITENING ** 2

/** Convolution, pooling, convolution, each with a batch norm. */
function block(name: string, width: number, scales: readonly [number, number]): Layer[] {
  return [
    conv2d(width, 3, { padding: 1, bias: false, name: `${name}.conv1` }),
    maxPool2d(2, { name: `${name}.pool` }),
    batchNorm2d({ name: `${name}.norm1`, gamma: scales[0] }),
    relu({ name: `${name}.relu1` }),
    conv2d(width, 3, { padding: 1, bias: false, name: `${name}.conv2` }),
    batchNorm2d({ name: `${name}.norm2`, gamma: scales[1] }),
    relu({ name: `${name}.relu2` })
  ]
}

/** The network: images (3, 32, 32) to ten logits. */
export function recordModel({ widths, scale, headScale }: Pick<Recipe, 'widths' | 'scale' | 'headScale'> = RECIPE): Model {
  const [first, second, third] = widths
  return defineModel({
    name: 'record',
    input: [3, 32, 32],
    layers: [
      conv2d(WHITENING_FILTERS, WHITENING, { name: 'whiten', biasInitialiser: { kind: 'constant', value: 0 } }),
      relu({ name: 'relu' }),
      ...block('block1', first, [scale, scale]),
      ...block('block2', second, [scale, scale]),
      ...block('block3', third, [scale, headScale]),
      maxPool2d(3, { name: 'pool' }),
      flatten({ name: 'flatten' }),
      linear(10, { bias: false, name: 'head' })
    ]
  })
}

/** What stays as it is set: the whitening filters and the scales of the batch norms. */
export const FROZEN = ['whiten.weight', '*.norm1.weight', '*.norm2.weight']

export function recordOptions(
  recipe: Recipe,
  { data, seed, initialWeights }: { readonly data: Dataset; readonly seed: number; readonly initialWeights: string }
): TrainOptions {
  const { learners, batch, epochs, momentum, weightDecay, labelSmoothing, learningRate, averageDecay, translation, synchroniser } = recipe
  return {
    model: recordModel(recipe),
    data: { ...data, augmentation: { padding: translation, border: 'reflect', flip: 'alternate' } },
    learners,
    batch,
    seed,
    initialWeights,
    freeze: FROZEN,
    labelSmoothing,
    optimiser: {
      learningRate: oneCycle({
        learningRate,
        initialLearningRate: 0.2 * learningRate,
        finalLearningRate: 0.03 * learningRate,
        risingFraction: 0.23
      }),
      momentum,
      nesterov: true,
      weightDecay
    },
    synchroniser,
    average: { name: 'ema', decay: averageDecay },
    until: { epochs },
    // At the end alone.
    evaluateEvery: 1e9
  }
}
