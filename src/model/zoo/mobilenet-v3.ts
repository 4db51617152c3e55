import { check } from '../../schema/faults.js'
import { group, option, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { oneOf, real } from '../../schema/values.js'
import { defineModel, dropout, globalAvgPool, hardSigmoid, hardSwish, linear, relu } from '../layers.js'
import type { Model } from '../model.js'
import { checkedShape, IMAGENET, IMAGENET_PIXELS, type ZooFamily, type ZooShape } from './family.js'
import { convolution, invertedResidual, isSmallImage, multipleOf8 } from './inverted-residual.js'

const mobilenetV3Options = group({
  /** `large` if omitted. */
  size: option(oneOf(['large', 'small']), { default: 'large' }),
  /** The fraction of the features that dropout before the last layer zeroes; 0.2 if omitted. */
  dropout: option(real({ min: 0, below: 1 }), { default: 0.2 })
})

/** Which MobileNetV3. */
export interface MobilenetV3Options extends GivenOptions<typeof mobilenetV3Options>, ToldByName {}

/** Pixels a side of the block's filters, channels in its middle and behind it, its activation, its stride, and whether it excites channels. */
type Row = readonly [
  kernel: number,
  expanded: number,
  channels: number,
  activation: 'relu' | 'hardSwish',
  stride: number,
  excites?: 'excites'
]

/** Tables 1 and 2 of the paper, and the features of the last layer but one. */
const SIZES: Readonly<Record<'large' | 'small', { readonly blocks: readonly Row[]; readonly features: number }>> = {
  large: {
    blocks: [
      [3, 16, 16, 'relu', 1],
      [3, 64, 24, 'relu', 2],
      [3, 72, 24, 'relu', 1],
      [5, 72, 40, 'relu', 2, 'excites'],
      [5, 120, 40, 'relu', 1, 'excites'],
      [5, 120, 40, 'relu', 1, 'excites'],
      [3, 240, 80, 'hardSwish', 2],
      [3, 200, 80, 'hardSwish', 1],
      [3, 184, 80, 'hardSwish', 1],
      [3, 184, 80, 'hardSwish', 1],
      [3, 480, 112, 'hardSwish', 1, 'excites'],
      [3, 672, 112, 'hardSwish', 1, 'excites'],
      [5, 672, 160, 'hardSwish', 2, 'excites'],
      [5, 960, 160, 'hardSwish', 1, 'excites'],
      [5, 960, 160, 'hardSwish', 1, 'excites']
    ],
    features: 1280
  },
  small: {
    blocks: [
      [3, 16, 16, 'relu', 2, 'excites'],
      [3, 72, 24, 'relu', 2],
      [3, 88, 24, 'relu', 1],
      [5, 96, 40, 'hardSwish', 2, 'excites'],
      [5, 240, 40, 'hardSwish', 1, 'excites'],
      [5, 240, 40, 'hardSwish', 1, 'excites'],
      [5, 120, 48, 'hardSwish', 1, 'excites'],
      [5, 144, 48, 'hardSwish', 1, 'excites'],
      [5, 288, 96, 'hardSwish', 2, 'excites'],
      [5, 576, 96, 'hardSwish', 1, 'excites'],
      [5, 576, 96, 'hardSwish', 1, 'excites']
    ],
    features: 1024
  }
}

const ACTIVATIONS = { relu, hardSwish } as const

/** Of all batch norms, as in torchvision. */
const EPSILON = 1e-3

/** Of both linear layers. */
const FIRST = { initialiser: { kind: 'normal', std: 0.01 }, biasInitialiser: { kind: 'constant', value: 0 } } as const

/**
 * MobileNetV3 (Howard et al., ICCV 2019): blocks as in MobileNetV2, many of them with squeeze-and-excitation, and activation functions of straight lines.
 * Layers are named as in torchvision's `mobilenet_v3_large` and `mobilenet_v3_small`, whose weights fit images of any size; for images below 64 pixels
 * a side the first two of its five strides are 1.
 */
export function mobilenetV3(shape: ZooShape, options: MobilenetV3Options = {}): Model {
  const { input, classes } = checkedShape(shape)
  const { size, dropout: rate } = check(mobilenetV3Options, options)
  const { blocks, features } = SIZES[size]
  const isSmall = isSmallImage(input)
  const halving = blocks.findIndex(([, , , , stride]) => stride === 2)
  const layers = convolution('features.0', { filters: 16, kernel: 3, stride: isSmall ? 1 : 2, activation: hardSwish, epsilon: EPSILON })
  let before = 16
  for (const [i, [kernel, expanded, channels, activation, stride, excites]] of blocks.entries()) {
    layers.push(
      ...invertedResidual(`features.${i + 1}`, {
        before,
        expanded,
        channels,
        kernel,
        stride: isSmall && i === halving ? 1 : stride,
        activation: ACTIVATIONS[activation],
        excitation: excites && { squeezed: multipleOf8(expanded / 4), activation: relu, scale: hardSigmoid },
        epsilon: EPSILON
      })
    )
    before = channels
  }
  return defineModel({
    name: `mobilenet_v3_${size}`,
    input,
    layers: [
      ...layers,
      ...convolution(`features.${blocks.length + 1}`, { filters: 6 * before, kernel: 1, activation: hardSwish, epsilon: EPSILON }),
      globalAvgPool(),
      linear(features, { name: 'classifier.0', ...FIRST }),
      hardSwish({ name: 'classifier.1' }),
      dropout(rate, { name: 'classifier.2' }),
      linear(classes, { name: 'classifier.3', ...FIRST })
    ]
  })
}

export const mobilenetV3Family: ZooFamily = {
  models: {
    mobilenet_v3_large: (shape) => mobilenetV3(shape),
    mobilenet_v3_small: (shape) => mobilenetV3(shape, { size: 'small' })
  },
  usual: { input: [3, 224, 224], classes: 1000 },
  // The paper's weight decay.
  defaults: { ...IMAGENET, weightDecay: 1e-5 },
  normalisation: IMAGENET_PIXELS
}
