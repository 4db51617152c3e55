import { predictionGraph } from '../../src/model/graph-builder.js'
import { defineModel, type Layer } from '../../src/model/layers.js'
import { layerKinds } from '../../src/model/operators/layer-table.js'

/** Every activation function: a layer without options that becomes one operator by element, without parameters. A new one needs no change here. */
export const activations: readonly Layer[] = layerKinds()
  .map((kind) => ({ kind }) as Layer)
  .filter((layer) => [[3, 2, 2], [4]].every((input) => isElementWise(layer, input)))

function isElementWise(layer: Layer, input: readonly number[]): boolean {
  try {
    const { values, operators } = predictionGraph(defineModel({ name: 'one layer', input, layers: [layer] }))
    return operators.length === 1 && values.length === 2 && values[0]!.shape.join() === values[1]!.shape.join()
  } catch {
    return false
  }
}
