import { check } from '../../schema/faults.js'
import { group, option, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { oneOf, real } from '../../schema/values.js'
import type { Layer } from '../layer.js'
import {
  conv2d,
  defineModel,
  gelu,
  globalAvgPool,
  imageOfPositions,
  imagePositions,
  layerNorm2d,
  layerNorm,
  layerScale,
  linear,
  residual,
  stochasticDepth
} from '../layers.js'
import type { Model } from '../model.js'
import { checkedShape, IMAGENET_PIXELS, type ZooFamily, type ZooShape, WITH_LAYER_NORMS } from './family.js'

/** Channels and blocks of the four stages, and the rate of stochastic depth of the last block, as in torchvision. */
const VARIANTS = {
  tiny: { channels: [96, 192, 384, 768], blocks: [3, 3, 9, 3], stochasticDepth: 0.1 },
  small: { channels: [96, 192, 384, 768], blocks: [3, 3, 27, 3], stochasticDepth: 0.4 },
  base: { channels: [128, 256, 512, 1024], blocks: [3, 3, 27, 3], stochasticDepth: 0.5 },
  large: { channels: [192, 384, 768, 1536], blocks: [3, 3, 27, 3], stochasticDepth: 0.5 }
} as const

const convnextOptions = group({
  /** `tiny` if omitted. */
  variant: option(oneOf(['tiny', 'small', 'base', 'large']), { default: 'tiny' }),
  /** The rate of stochastic depth of the last block; it rises block by block from 0. The variant's own if omitted, 0.1 to 0.5. */
  stochasticDepth: option(real({ min: 0, below: 1 }))
})

/** Which ConvNeXt. */
export interface ConvnextOptions extends GivenOptions<typeof convnextOptions>, ToldByName {}

/** Images with a side below this keep more of their size. */
const SMALL_SIDE = 64
const EPSILON = 1e-6
/** As torchvision draws them: its bounds, -2 and 2, are so far out that they cut nothing off. */
const INITIAL = { initialiser: { kind: 'normal', std: 0.02 }, biasInitialiser: { kind: 'constant', value: 0 } } as const

/**
 * ConvNeXt (Liu et al., CVPR 2022): a convolution of 7 x 7 pixels of each channel by itself, then two linear layers over the channels of each pixel, with layer norm, GELU and a trained factor for
 * each channel. Layers are named as in torchvision's `convnext_tiny` to `convnext_large`, whose weights fit images of any size; for images below 64 pixels a side the
 * first of its four strides is 2 in place of 4.
 */
export function convnext(shape: ZooShape, options: ConvnextOptions = {}): Model {
  const { input, classes } = checkedShape(shape)
  const { variant, stochasticDepth: given } = check(convnextOptions, options)
  const { channels, blocks, stochasticDepth: usual } = VARIANTS[variant]
  const rate = given ?? usual
  const count = blocks.reduce((sum, each) => sum + each, 0)
  const stem = Math.min(...input.slice(1)) < SMALL_SIDE ? { stride: 2, padding: 1 } : { stride: 4 }
  let extents = input.slice(1).map((extent) => Math.floor(extent / stem.stride))
  let position = 0
  const layers: Layer[] = [
    conv2d(channels[0], 4, { ...stem, name: 'features.0.0', ...INITIAL }),
    layerNorm2d({ epsilon: EPSILON, name: 'features.0.1' })
  ]
  for (const [stage, width] of channels.entries()) {
    if (stage > 0) {
      const name = `features.${2 * stage}`
      layers.push(layerNorm2d({ epsilon: EPSILON, name: `${name}.0` }), conv2d(width, 2, { stride: 2, name: `${name}.1`, ...INITIAL }))
      extents = extents.map((extent) => Math.floor(extent / 2))
    }
    for (let i = 0; i < blocks[stage]!; i++)
      layers.push(block(`features.${2 * stage + 1}.${i}`, width, extents, (rate * position++) / (count - 1)))
  }
  return defineModel({
    name: `convnext_${variant}`,
    input,
    layers: [
      ...layers,
      globalAvgPool(),
      layerNorm({ epsilon: EPSILON, name: 'classifier.0' }),
      linear(classes, { name: 'classifier.2', ...INITIAL })
    ]
  })
}

function block(name: string, channels: number, [height, width]: readonly number[], dropRate: number): Layer {
  return residual({
    name,
    relu: false,
    body: [
      conv2d(channels, 7, { padding: 3, groups: channels, name: 'block.0', ...INITIAL }),
      imagePositions(),
      layerNorm({ epsilon: EPSILON, name: 'block.2' }),
      linear(4 * channels, { name: 'block.3', ...INITIAL }),
      gelu(),
      linear(channels, { name: 'block.5', ...INITIAL }),
      imageOfPositions(height!, width!),
      layerScale({ parameter: `${name}.layer_scale` }),
      stochasticDepth(dropRate)
    ]
  })
}

export const convnextFamily: ZooFamily = {
  models: {
    convnext_tiny: (shape) => convnext(shape),
    convnext_small: (shape) => convnext(shape, { variant: 'small' }),
    convnext_base: (shape) => convnext(shape, { variant: 'base' }),
    convnext_large: (shape) => convnext(shape, { variant: 'large' })
  },
  usual: { input: [3, 224, 224], classes: 1000 },
  defaults: WITH_LAYER_NORMS,
  normalisation: IMAGENET_PIXELS
}
