import { invalidOption } from '../../errors.js'
import { defineModel, flatten, linear, relu } from '../layers.js'
import type { Model } from '../model.js'
import type { ZooShape } from './zoo-shape.js'

/** A multi-layer perceptron with ReLUs: 784-256-128-10 on MNIST if `hidden` is left out. */
export function mlp({ input, classes }: ZooShape, { hidden = [256, 128] }: { hidden?: readonly number[] } = {}): Model {
  if (!Array.isArray(hidden)) throw invalidOption('hidden', hidden, 'use a list of numbers of features, one a hidden layer')
  const body = hidden.flatMap((features, i) => [linear(features, { name: `fc${i + 1}` }), relu()])
  return defineModel({ name: 'mlp', input, layers: [flatten(), ...body, linear(classes, { name: `fc${hidden.length + 1}` })] })
}
