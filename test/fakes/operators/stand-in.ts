import type { ComposedOperator } from '../../../src/model/composed.js'
import { composed } from '../../../src/model/layers.js'
import type { Layer } from '../../../src/model/layer.js'

let current: Partial<ComposedOperator> = {}

/** A layer with this operator, until the next call gives it another. Load the module first. */
export function layerOf(operator: Partial<ComposedOperator>): Layer {
  current = operator
  return composed(new URL(import.meta.url), { name: 'own' })
}

/** The operator that a test is about, so that it need not have a module of its own. */
export default {
  shape: (input, options) => current.shape!(input, options),
  build: (builder, x, options) => current.build!(builder, x, options),
  get gradient() {
    return current.gradient
  }
} as ComposedOperator
