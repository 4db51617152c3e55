import { modelFile } from '../checkpoints/model-file.js'
import { importWeights } from '../formats/import-weights.js'
import { predictionGraph } from '../model/graph-builder.js'
import { initialParametersInTurns } from '../model/initialise.js'
import type { Model } from '../model/model.js'
import type { Settings } from '../options/settings.js'

/** The first central model in canonical order: random by the seed, or a file's. Throws what `importWeights` throws. */
export async function firstWeights(
  model: Model,
  { initialWeights: initial, seed }: Pick<Settings, 'initialWeights' | 'seed'>
): Promise<Float32Array> {
  if (initial) return (await importWeights(await modelFile(initial.file), model, { ...initial, seed })).parameters
  return initialParametersInTurns(predictionGraph(model), seed)
}
