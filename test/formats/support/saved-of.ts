import type { SavedModel } from '../../../src/formats/saved-model.js'
import { predictionGraph } from '../../../src/model/graph-builder.js'
import { elements, parametersOf, type Value } from '../../../src/model/graph.js'
import type { Model } from '../../../src/model/model.js'

/** A model whose weights are all different and small, and whose statistics are about 1. */
export function savedOf(model: Model, more: Partial<SavedModel> = {}): SavedModel {
  const graph = predictionGraph(model)
  let next = 0
  const tensors = (values: readonly Value[], about: number) =>
    Object.fromEntries(
      values.map(({ name, shape }) => [
        name,
        { shape, data: Float32Array.from({ length: elements(shape) }, () => about + Math.sin(++next) / 20) }
      ])
    )
  const statistics = graph.values.filter(({ role, name }) => role === 'statistic' && !name.endsWith('.count'))
  return {
    model,
    weights: tensors(parametersOf(graph), 0),
    statistics: tensors(statistics, 1),
    normalisation: { mean: [], std: [] },
    ...more
  }
}
