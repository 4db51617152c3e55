import { conv2d, defineModel, dropout, flatten, linear, maxPool2d, relu } from '../layers.js'
import type { Model } from '../model.js'
import {
  checkedShape,
  dropoutRate,
  fittingSides,
  IMAGENET,
  IMAGENET_PIXELS,
  type DropoutOptions,
  type ZooFamily,
  type ZooShape
} from './family.js'

/**
 * AlexNet on one device: five convolutions and three linear layers, without local response normalisation (Krizhevsky, "One weird trick for
 * parallelizing convolutional neural networks", 2014). Layers are named as in torchvision, and for images of 224 pixels a side the weights are
 * the same. Smaller images leave fewer features to the first linear layer. `dropout` is the rate before the first two linear layers.
 *
 * Throws SHAPE_MISMATCH for images that are not 63 to 254 pixels a side.
 */
export function alexnet(shape: ZooShape, options: DropoutOptions = {}): Model {
  const { input, classes } = checkedShape(shape)
  const rate = dropoutRate(options, 0.5)
  fittingSides('alexnet', input, { least: 63, most: 254 })
  return defineModel({
    name: 'alexnet',
    input,
    layers: [
      conv2d(64, 11, { stride: 4, padding: 2, name: 'features.0' }),
      relu({ name: 'features.1' }),
      maxPool2d(3, { stride: 2, name: 'features.2' }),
      conv2d(192, 5, { padding: 2, name: 'features.3' }),
      relu({ name: 'features.4' }),
      maxPool2d(3, { stride: 2, name: 'features.5' }),
      conv2d(384, 3, { padding: 1, name: 'features.6' }),
      relu({ name: 'features.7' }),
      conv2d(256, 3, { padding: 1, name: 'features.8' }),
      relu({ name: 'features.9' }),
      conv2d(256, 3, { padding: 1, name: 'features.10' }),
      relu({ name: 'features.11' }),
      maxPool2d(3, { stride: 2, name: 'features.12' }),
      flatten(),
      dropout(rate, { name: 'classifier.0' }),
      linear(4096, { name: 'classifier.1' }),
      relu({ name: 'classifier.2' }),
      dropout(rate, { name: 'classifier.3' }),
      linear(4096, { name: 'classifier.4' }),
      relu({ name: 'classifier.5' }),
      linear(classes, { name: 'classifier.6' })
    ]
  })
}

export const alexnetFamily: ZooFamily = {
  models: { alexnet: (shape) => alexnet(shape) },
  usual: { input: [3, 224, 224], classes: 1000 },
  defaults: { ...IMAGENET, learningRate: 0.0025, weightDecay: 5e-4 },
  normalisation: IMAGENET_PIXELS
}
