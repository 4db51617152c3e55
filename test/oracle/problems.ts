import { concat, defineModel, gru, linear, lstm, meanPositions } from '../../src/model/layers.js'
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
import { paddedProblemOf, problemOf, textProblemOf, type Problem } from './problem.js'

const MNIST = [1, 28, 28]
const CIFAR = [3, 32, 32]

const GPT = { layers: 2, heads: 2, width: 32 }

/** A long short-term memory, then gated recurrent units in both directions. */
const recurrent = ({ input, classes }: ZooShape): Model =>
  defineModel({
    name: 'recurrent',
    input,
    layers: [lstm(9), concat([[gru(7)], [gru(7, { reverse: true })]]), meanPositions(), linear(classes)]
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
  ['alexnet', () => problemOf((shape) => alexnet(shape, { dropout: 0 }), { sample: [3, 63, 63], batch: 4, steps: 1 })]
]

/** The problems that PyTorch has been asked, by the name of their fixture; each is made once. */
export const PROBLEMS: ReadonlyMap<string, () => Problem> = new Map(MAKERS.map(([name, make]) => [name, once(make)]))

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}
