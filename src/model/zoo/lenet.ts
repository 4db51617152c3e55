import { conv2d, defineModel, flatten, linear, maxPool2d, relu } from '../layers.js'
import type { Model } from '../model.js'
import { checkedShape, SMALL, type ZooFamily, type ZooShape } from './family.js'

/** LeNet as Caffe has it: 20 and 50 filters of 5x5, each with 2x2 max pooling, then 500 units with a ReLU. */
export function lenet(shape: ZooShape): Model {
  const { input, classes } = checkedShape(shape)
  return defineModel({
    name: 'lenet',
    input,
    layers: [
      conv2d(20, 5, { name: 'conv1' }),
      maxPool2d(2),
      conv2d(50, 5, { name: 'conv2' }),
      maxPool2d(2),
      flatten(),
      linear(500, { name: 'fc1' }),
      relu(),
      linear(classes, { name: 'fc2' })
    ]
  })
}

export const lenetFamily: ZooFamily = {
  models: { lenet },
  usual: { input: [1, 28, 28], classes: 10 },
  // The batch and the rate that took two and four learners to 99% of MNIST soonest: bench/results/tta.md.
  defaults: { ...SMALL, batch: 32, learningRate: 0.02 }
}
