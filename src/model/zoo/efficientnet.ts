import { check } from '../../schema/faults.js'
import { group, option, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { oneOf, real } from '../../schema/values.js'
import { defineModel, dropout, globalAvgPool, linear, sigmoid, silu } from '../layers.js'
import type { Model } from '../model.js'
import { checkedShape, IMAGENET, IMAGENET_PIXELS, type ZooFamily, type ZooShape } from './family.js'
import { convolution, invertedResidual, isSmallImage, multipleOf8 } from './inverted-residual.js'

/** How many times as wide and as deep as the smallest one, and the dropout before the last layer. */
const VARIANTS = {
  b0: { width: 1, depth: 1, dropout: 0.2 },
  b1: { width: 1, depth: 1.1, dropout: 0.2 },
  b2: { width: 1.1, depth: 1.2, dropout: 0.3 },
  b3: { width: 1.2, depth: 1.4, dropout: 0.3 },
  b4: { width: 1.4, depth: 1.8, dropout: 0.4 }
} as const

const efficientnetOptions = group({
  /** `b0` if omitted. */
  variant: option(oneOf(['b0', 'b1', 'b2', 'b3', 'b4']), { default: 'b0' }),
  /** The fraction of the features that dropout before the last layer zeroes; the variant's own if omitted, 0.2 to 0.4. */
  dropout: option(real({ min: 0, below: 1 })),
  /** The rate of stochastic depth of the last block; it rises block by block from 0. 0.2 if omitted. */
  stochasticDepth: option(real({ min: 0, below: 1 }), { default: 0.2 })
})

/** Which EfficientNet. */
export interface EfficientnetOptions extends GivenOptions<typeof efficientnetOptions>, ToldByName {}

/** Table 1 of the paper: how much wider the blocks of a stage are inside, their filters, the first one's stride, their channels, how many there are. */
const STAGES = [
  { expansion: 1, kernel: 3, stride: 1, channels: 16, blocks: 1 },
  { expansion: 6, kernel: 3, stride: 2, channels: 24, blocks: 2 },
  { expansion: 6, kernel: 5, stride: 2, channels: 40, blocks: 2 },
  { expansion: 6, kernel: 3, stride: 2, channels: 80, blocks: 3 },
  { expansion: 6, kernel: 5, stride: 1, channels: 112, blocks: 3 },
  { expansion: 6, kernel: 5, stride: 2, channels: 192, blocks: 4 },
  { expansion: 6, kernel: 3, stride: 1, channels: 320, blocks: 1 }
] as const

/**
 * EfficientNet (Tan and Le, ICML 2019): the blocks of MobileNetV2 with squeeze-and-excitation and SiLU, in sizes that grow in width and depth together,
 * trained with stochastic depth. Layers are named as in torchvision's `efficientnet_b0` to `efficientnet_b4`, whose weights fit images of any size; for
 * images below 64 pixels a side the first two of its five strides are 1.
 */
export function efficientnet(shape: ZooShape, options: EfficientnetOptions = {}): Model {
  const { input, classes } = checkedShape(shape)
  const { variant, stochasticDepth, dropout: given } = check(efficientnetOptions, options)
  const { width, depth, dropout: usual } = VARIANTS[variant]
  const isSmall = isSmallImage(input)
  const stages = STAGES.map((stage) => ({
    ...stage,
    channels: multipleOf8(stage.channels * width),
    blocks: Math.ceil(stage.blocks * depth)
  }))
  const count = stages.reduce((sum, { blocks }) => sum + blocks, 0)
  let before = multipleOf8(32 * width)
  let position = 0
  const layers = convolution('features.0', { filters: before, kernel: 3, stride: isSmall ? 1 : 2, activation: silu })
  for (const [stage, { expansion, kernel, stride, channels, blocks }] of stages.entries())
    for (let i = 0; i < blocks; i++) {
      layers.push(
        ...invertedResidual(`features.${stage + 1}.${i}`, {
          before,
          expanded: multipleOf8(before * expansion),
          channels,
          kernel,
          stride: i > 0 || (isSmall && stage === 1) ? 1 : stride,
          activation: silu,
          excitation: { squeezed: Math.floor(before / 4), activation: silu, scale: sigmoid },
          dropRate: (stochasticDepth * position++) / count
        })
      )
      before = channels
    }
  const bound = 1 / Math.sqrt(classes)
  return defineModel({
    name: `efficientnet_${variant}`,
    input,
    layers: [
      ...layers,
      ...convolution(`features.${stages.length + 1}`, { filters: 4 * before, kernel: 1, activation: silu }),
      globalAvgPool(),
      dropout(given ?? usual, { name: 'classifier.0' }),
      linear(classes, {
        name: 'classifier.1',
        initialiser: { kind: 'uniform', low: -bound, high: bound },
        biasInitialiser: { kind: 'constant', value: 0 }
      })
    ]
  })
}

export const efficientnetFamily: ZooFamily = {
  models: {
    efficientnet_b0: (shape) => efficientnet(shape),
    efficientnet_b1: (shape) => efficientnet(shape, { variant: 'b1' }),
    efficientnet_b2: (shape) => efficientnet(shape, { variant: 'b2' }),
    efficientnet_b3: (shape) => efficientnet(shape, { variant: 'b3' }),
    efficientnet_b4: (shape) => efficientnet(shape, { variant: 'b4' })
  },
  usual: { input: [3, 224, 224], classes: 1000 },
  // The paper's weight decay.
  defaults: { ...IMAGENET, weightDecay: 1e-5 },
  normalisation: IMAGENET_PIXELS
}
