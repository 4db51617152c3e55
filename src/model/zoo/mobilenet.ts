import { batchNorm2d, conv2d, defineModel, dropout, globalAvgPool, linear, relu6, residual } from '../layers.js'
import type { Layer } from '../layer.js'
import type { Model } from '../model.js'
import { checkedShape, dropoutRate, IMAGENET, IMAGENET_PIXELS, type DropoutOptions, type ZooFamily, type ZooShape } from './family.js'
import { convolution, isSmallImage } from './inverted-residual.js'

/** The blocks of each stage: how much wider a block is inside, channels that it gives, how many there are, and the first one's stride. */
const STAGES = [
  { expansion: 1, channels: 16, blocks: 1, stride: 1 },
  { expansion: 6, channels: 24, blocks: 2, stride: 2 },
  { expansion: 6, channels: 32, blocks: 3, stride: 2 },
  { expansion: 6, channels: 64, blocks: 4, stride: 2 },
  { expansion: 6, channels: 96, blocks: 3, stride: 1 },
  { expansion: 6, channels: 160, blocks: 3, stride: 2 },
  { expansion: 6, channels: 320, blocks: 1, stride: 1 }
] as const

/**
 * MobileNetV2 (Sandler et al., CVPR 2018): blocks that widen by a 1x1 convolution, filter each channel by itself (a depthwise 3x3 convolution) and
 * narrow again, with ReLU6 after the first two. Layers are named as in torchvision's `mobilenet_v2`, whose weights fit images of any size; for
 * images below 64 pixels a side two of its five strides are 1. `dropout` is the rate before the classifier.
 */
export function mobilenetV2(shape: ZooShape, options: DropoutOptions = {}): Model {
  const { input, classes } = checkedShape(shape)
  const rate = dropoutRate(options, 0.2)
  const isSmall = isSmallImage(input)
  const layers: Layer[] = convolution('features.0', { filters: 32, kernel: 3, stride: isSmall ? 1 : 2, activation: relu6 })
  let [before, position] = [32, 1]
  for (const [stage, { expansion, channels, blocks, stride: first }] of STAGES.entries())
    for (let i = 0; i < blocks; i++) {
      const stride = i > 0 || (isSmall && stage === 1) ? 1 : first
      layers.push(...block(`features.${position++}`, { before, expansion, channels, stride }))
      before = channels
    }
  return defineModel({
    name: 'mobilenet_v2',
    input,
    layers: [
      ...layers,
      ...convolution(`features.${position}`, { filters: 1280, kernel: 1, activation: relu6 }),
      globalAvgPool(),
      dropout(rate, { name: 'classifier.0' }),
      linear(classes, {
        name: 'classifier.1',
        initialiser: { kind: 'normal', std: 0.01 },
        biasInitialiser: { kind: 'constant', value: 0 }
      })
    ]
  })
}

interface BlockShape {
  readonly before: number
  readonly expansion: number
  readonly channels: number
  readonly stride: number
}

/** Around a block that keeps the shape lies a shortcut, without a ReLU behind the sum. */
function block(name: string, { before, expansion, channels, stride }: BlockShape): Layer[] {
  const hidden = expansion * before
  const inner = (prefix: string): Layer[] => {
    const widened = expansion > 1 ? convolution(`${prefix}0`, { filters: hidden, kernel: 1, activation: relu6 }) : []
    const at = expansion > 1 ? 1 : 0
    return [
      ...widened,
      ...convolution(`${prefix}${at}`, { filters: hidden, kernel: 3, stride, groups: hidden, activation: relu6 }),
      conv2d(channels, 1, { bias: false, initialiser: 'heNormal', name: `${prefix}${at + 1}` }),
      batchNorm2d({ name: `${prefix}${at + 2}` })
    ]
  }
  if (stride > 1 || before !== channels) return inner(`${name}.conv.`)
  return [residual({ name, body: inner('conv.'), relu: false })]
}

export const mobilenetFamily: ZooFamily = {
  models: { mobilenet_v2: (shape) => mobilenetV2(shape) },
  usual: { input: [3, 224, 224], classes: 1000 },
  // The paper's weight decay.
  defaults: { ...IMAGENET, weightDecay: 4e-5 },
  normalisation: IMAGENET_PIXELS
}
