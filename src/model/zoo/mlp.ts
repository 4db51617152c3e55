import { check } from '../../schema/faults.js'
import { group, option, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { list, whole } from '../../schema/values.js'
import { elements } from '../graph.js'
import { defineModel, flatten, linear, relu } from '../layers.js'
import type { Model } from '../model.js'
import { checkedShape, SMALL, type ZooFamily, type ZooShape } from './family.js'

const mlpOptions = group({
  /** Features of each hidden layer. */
  hidden: option(list(whole({ min: 1 }), 'a list of numbers of features, one a hidden layer'))
})

/** The hidden layers of a multi-layer perceptron. */
export interface MlpOptions extends GivenOptions<typeof mlpOptions>, ToldByName {}

/** A multi-layer perceptron with ReLUs: 784-256-128-10 on MNIST if `hidden` is left out, and less for samples of fewer than 64 numbers. */
export function mlp(shape: ZooShape, options: MlpOptions = {}): Model {
  const { input, classes } = checkedShape(shape)
  const { hidden = hiddenFor(elements(input)) } = check(mlpOptions, options)
  const body = hidden.flatMap((features, i) => [linear(features, { name: `fc${i + 1}` }), relu()])
  return defineModel({ name: 'mlp', input, layers: [flatten(), ...body, linear(classes, { name: `fc${hidden.length + 1}` })] })
}

/** Two layers: the first with about four times the features of a sample, from 64 to 256. */
function hiddenFor(features: number): readonly number[] {
  const first = Math.min(256, Math.max(64, 2 ** Math.ceil(Math.log2(4 * features))))
  return [first, first / 2]
}

/** One linear layer: softmax regression. */
export function logisticRegression(shape: ZooShape): Model {
  const { input, classes } = checkedShape(shape)
  return defineModel({ name: 'logistic-regression', input, layers: [flatten(), linear(classes, { name: 'fc' })] })
}

export const logisticRegressionFamily: ZooFamily = {
  models: { 'logistic-regression': logisticRegression },
  usual: { input: [1, 28, 28], classes: 10 },
  defaults: { ...SMALL, weightDecay: 0 }
}

export const mlpFamily: ZooFamily = {
  models: { mlp: (shape) => mlp(shape) },
  usual: { input: [1, 28, 28], classes: 10 },
  defaults: { ...SMALL, batch: 32, learningRate: 0.02, weightDecay: 1e-4, epochs: 6 }
}
