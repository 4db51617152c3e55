import { batchNorm2d, conv2d, defineModel, dropout, flatten, linear, maxPool2d, relu } from '../layers.js'
import type { Layer } from '../layer.js'
import type { Model } from '../model.js'
import {
  checkedShape,
  dropoutRate,
  COMMON,
  fittingSides,
  IMAGENET_PIXELS,
  type DropoutOptions,
  type ZooFamily,
  type ZooShape
} from './family.js'

/** Filters of the 3x3 convolutions, and where the images are halved: configuration D of the paper. */
const FEATURES = [64, 64, 'pool', 128, 128, 'pool', 256, 256, 256, 'pool', 512, 512, 512, 'pool', 512, 512, 512, 'pool'] as const

/**
 * VGG-16 with batch norm: thirteen 3x3 convolutions and a classifier of linear layers (Simonyan and Zisserman, ICLR 2015). Layers are named as in
 * torchvision's `vgg16_bn`, and for images of 224 pixels a side the weights are the same. Below that, where few features are left, two hidden
 * layers of 4096 units become one of 512, as is usual for CIFAR's images of 32. `dropout` is the rate after each hidden layer.
 *
 * Throws SHAPE_MISMATCH for images that are not 32 to 255 pixels a side.
 */
export function vgg16(shape: ZooShape, options: DropoutOptions = {}): Model {
  const { input, classes } = checkedShape(shape)
  const rate = dropoutRate(options, 0.5)
  const sides = fittingSides('vgg16', input, { least: 32, most: 255 })
  const hidden = sides.every((side) => side >= 224) ? [4096, 4096] : [512]
  return defineModel({ name: 'vgg16', input, layers: [...features(), flatten(), ...classifier(hidden, classes, rate)] })
}

function features(): Layer[] {
  const layers: Layer[] = []
  const next = () => ({ name: `features.${layers.length}` })
  for (const filters of FEATURES) {
    if (filters === 'pool') {
      layers.push(maxPool2d(2, next()))
      continue
    }
    layers.push(conv2d(filters, 3, { padding: 1, initialiser: 'heNormal', ...next() }))
    layers.push(batchNorm2d(next()))
    layers.push(relu(next()))
  }
  return layers
}

function classifier(hidden: readonly number[], classes: number, rate: number): Layer[] {
  const layers: Layer[] = []
  const next = () => ({ name: `classifier.${layers.length}` })
  for (const units of hidden) {
    layers.push(linear(units, next()))
    layers.push(relu(next()))
    layers.push(dropout(rate, next()))
  }
  return [...layers, linear(classes, next())]
}

export const vggFamily: ZooFamily = {
  models: { vgg16: (shape) => vgg16(shape) },
  usual: { input: [3, 32, 32], classes: 10 },
  defaults: { ...COMMON, batch: 32, learningRate: 0.02, weightDecay: 5e-4, epochs: 30, milestones: [0.5, 0.8] },
  normalisation: IMAGENET_PIXELS
}
