import { invalidOption } from '../../errors.js'
import { defineModel, flatten, linear, relu } from '../layers.js'
import type { Model } from '../model.js'
import { defineFamily, SMALL, type ZooShape } from './family.js'

/** A multi-layer perceptron with ReLUs: 784-256-128-10 on MNIST if `hidden` is left out. */
export function mlp({ input, classes }: ZooShape, { hidden = [256, 128] }: { hidden?: readonly number[] } = {}): Model {
  if (!Array.isArray(hidden)) throw invalidOption('hidden', hidden, 'use a list of numbers of features, one a hidden layer')
  const body = hidden.flatMap((features, i) => [linear(features, { name: `fc${i + 1}` }), relu()])
  return defineModel({ name: 'mlp', input, layers: [flatten(), ...body, linear(classes, { name: `fc${hidden.length + 1}` })] })
}

/** One linear layer: softmax regression. */
export function logisticRegression({ input, classes }: ZooShape): Model {
  return defineModel({ name: 'logistic-regression', input, layers: [flatten(), linear(classes, { name: 'fc' })] })
}

defineFamily({
  models: { 'logistic-regression': logisticRegression },
  usual: { input: [1, 28, 28], classes: 10 },
  defaults: { ...SMALL, weightDecay: 0 }
})

defineFamily({
  models: { mlp: (shape) => mlp(shape) },
  usual: { input: [1, 28, 28], classes: 10 },
  defaults: { ...SMALL, batch: 32, learningRate: 0.02, weightDecay: 1e-4, epochs: 6 }
})
