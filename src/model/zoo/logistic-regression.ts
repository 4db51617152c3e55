import { defineModel, flatten, linear } from '../layers.js'
import type { Model } from '../model.js'
import type { ZooShape } from './zoo-shape.js'

/** One linear layer: softmax regression. */
export function logisticRegression({ input, classes }: ZooShape): Model {
  return defineModel({ name: 'logistic-regression', input, layers: [flatten(), linear(classes, { name: 'fc' })] })
}
