import {
  concat,
  conv2d,
  convTranspose2d,
  defineModel,
  gelu,
  gru,
  imageOfPositions,
  imagePositions,
  layerNorm,
  layerNorm2d,
  layerScale,
  linear,
  lstm,
  meanPositions,
  relu,
  residual
} from '../../src/model/layers.js'
import type { Model } from '../../src/model/model.js'
import {
  alexnet,
  convnet,
  efficientnet,
  gpt,
  imagenetResnet,
  inceptionV3,
  lenet,
  mobilenetV2,
  mobilenetV3,
  resnet,
  textClassifier,
  vgg16,
  vit
} from '../../src/model/zoo/index.js'
import type { ZooShape } from '../../src/model/zoo/index.js'
import { paddedProblemOf, positionsProblemOf, problemOf, textProblemOf, type Problem } from './problem.js'

const MNIST = [1, 28, 28]
const CIFAR = [3, 32, 32]

const GPT = { layers: 2, heads: 2, width: 32 }

/** A long short-term memory of two layers in both directions, then gated recurrent units, of which two lists of layers make both directions. */
const recurrent = ({ input, classes }: ZooShape): Model =>
  defineModel({
    name: 'recurrent',
    input,
    layers: [lstm(9, { layers: 2, bidirectional: true }), concat([[gru(7)], [gru(7, { reverse: true })]]), meanPositions(), linear(classes)]
  })

/** A block of ConvNeXt, transposed convolutions, and the classes of each pixel, which count differently. */
const segments = ({ input, classes }: ZooShape): Model =>
  defineModel({
    name: 'segments',
    input,
    layers: [
      conv2d(8, 4, { stride: 2, padding: 1 }),
      layerNorm2d(),
      residual({
        relu: false,
        body: [
          conv2d(8, 7, { padding: 3, groups: 8 }),
          imagePositions(),
          layerNorm(),
          linear(32),
          gelu(),
          linear(8),
          imageOfPositions(7, 8),
          layerScale({ initial: 0.5 })
        ]
      }),
      convTranspose2d(12, 3, { stride: 2, padding: 1, outputPadding: 1, groups: 2 }),
      relu(),
      convTranspose2d(5, [3, 2], { padding: [2, 1], dilation: 2, bias: false }),
      conv2d(classes, 1),
      imagePositions()
    ],
    labelSmoothing: 0.1,
    classWeights: Array.from({ length: classes }, (_, k) => k / 4)
  })

/** Without dropout, whose random numbers are each library's own. Large models take one step on images as small as their batch norms bear. */
const MAKERS: readonly (readonly [string, () => Problem])[] = [
  ['lenet', () => problemOf(lenet, { sample: MNIST, batch: 16, steps: 10 })],
  ['resnet20', () => problemOf(resnet, { sample: CIFAR, batch: 8, steps: 10 })],
  ['resnet20_gn', () => problemOf((shape) => resnet(shape, { norm: 'group' }), { sample: CIFAR, batch: 4, steps: 10 })],
  ['resnet18', () => problemOf((shape) => imagenetResnet(shape, { depth: 18 }), { sample: [3, 64, 64], batch: 4, steps: 1 })],
  [
    'resnet50',
    () => problemOf((shape) => imagenetResnet(shape, { depth: 50 }), { sample: [3, 64, 64], batch: 16, steps: 1, gentle: true })
  ],
  ['vgg16', () => problemOf((shape) => vgg16(shape, { dropout: 0 }), { sample: CIFAR, batch: 8, steps: 1 })],
  ['gpt', () => textProblemOf((shape) => gpt(shape, GPT), { context: 16, batch: 4, steps: 10, size: GPT })],
  ['mobilenet_v2', () => problemOf((shape) => mobilenetV2(shape, { dropout: 0 }), { sample: CIFAR, batch: 8, steps: 1, gentle: true })],
  [
    'mobilenet_v3_small',
    () => problemOf((shape) => mobilenetV3(shape, { size: 'small', dropout: 0 }), { sample: CIFAR, batch: 8, steps: 1, gentle: true })
  ],
  [
    'efficientnet_b0',
    () => problemOf((shape) => efficientnet(shape, { dropout: 0, stochasticDepth: 0 }), { sample: CIFAR, batch: 8, steps: 1, gentle: true })
  ],
  [
    'inception_v3',
    () => problemOf((shape) => inceptionV3(shape, { dropout: 0 }), { sample: [3, 139, 139], batch: 4, steps: 1, gentle: true })
  ],
  ['convnet', () => problemOf(convnet, { sample: CIFAR, batch: 8, steps: 1 })],
  ['text-classifier', () => paddedProblemOf((shape) => textClassifier(shape, GPT), { context: 16, batch: 8, steps: 10, size: GPT })],
  ['vit-tiny', () => problemOf((shape) => vit(shape, GPT), { sample: CIFAR, batch: 8, steps: 10, size: GPT })],
  ['recurrent', () => problemOf(recurrent, { sample: [12, 6], batch: 8, steps: 10 })],
  ['segments', () => positionsProblemOf(segments, { sample: [3, 14, 16], batch: 4, steps: 10 })],
  ['alexnet', () => problemOf((shape) => alexnet(shape, { dropout: 0 }), { sample: [3, 63, 63], batch: 4, steps: 1 })]
]

/** The problems that PyTorch has been asked, by the name of their fixture; each is made once. */
export const PROBLEMS: ReadonlyMap<string, () => Problem> = new Map(MAKERS.map(([name, make]) => [name, once(make)]))

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}
