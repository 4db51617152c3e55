import { avgPool2d, conv2d, defineModel, flatten, linear, relu } from '../layers.js'
import type { Layer } from '../layer.js'
import type { Model } from '../model.js'
import { checkedShape, SMALL, type ZooFamily, type ZooShape } from './family.js'

/** Normal, as in Caffe, with biases of 0. */
function from(std: number) {
  return { initialiser: { kind: 'normal', std }, biasInitialiser: { kind: 'constant', value: 0 } } as const
}

/** Means of 3x3 pixels, every other one, to half the size rounded up: there the last window reaches over the edge, here the first and the last do. */
const halve = (name: string): Layer => avgPool2d(3, { stride: 2, padding: 1, name })

/**
 * The ConvNet of Crossbow's sources (ConvNet.java) for CIFAR-10, a form of Caffe's `cifar10_quick` with the same shapes: three 5x5 convolutions of 32, 32
 * and 64 filters, each with average pooling, and two linear layers without a ReLU between. The first weights have a std of 0.01 where those have 0.0001:
 * their pixels go up to 255.
 */
export function convnet(shape: ZooShape): Model {
  const { input, classes } = checkedShape(shape)
  return defineModel({
    name: 'convnet',
    input,
    layers: [
      conv2d(32, 5, { padding: 2, name: 'conv1', ...from(0.01) }),
      halve('pool1'),
      relu({ name: 'relu1' }),
      conv2d(32, 5, { padding: 2, name: 'conv2', ...from(0.01) }),
      relu({ name: 'relu2' }),
      halve('pool2'),
      conv2d(64, 5, { padding: 2, name: 'conv3', ...from(0.01) }),
      relu({ name: 'relu3' }),
      halve('pool3'),
      flatten(),
      linear(64, { name: 'fc1', ...from(0.1) }),
      linear(classes, { name: 'fc2', ...from(0.1) })
    ]
  })
}

export const convnetFamily: ZooFamily = {
  models: { convnet },
  usual: { input: [3, 32, 32], classes: 10 },
  defaults: { ...SMALL, batch: 32, weightDecay: 0.004, epochs: 30 }
}
