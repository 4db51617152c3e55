import { findModelFile } from '../../checkpoints/find-model.js'
import { readFolder } from '../../formats/huggingface/folder.js'
import { firstFolderWeights } from '../../formats/huggingface/read-folder-model.js'
import { importFile } from '../../formats/import-weights.js'
import { predictionGraphInPieces } from '../../model/graph-builder.js'
import { initialParametersInTurns } from '../../model/initialise.js'
import type { Model } from '../../model/model.js'
import type { Settings } from '../../options/settings.js'
import { inTurns } from '../../turns.js'

/** The first central model in canonical order: random by the seed, or from a file. Throws what `importWeights` throws. */
export async function firstWeights(
  model: Model,
  { initial: folder, initialWeights: initial, seed }: Pick<Settings, 'initial' | 'initialWeights' | 'seed'>
): Promise<Float32Array> {
  if (folder !== undefined) return (await firstFolderWeights(readFolder(folder), model, seed)).parameters
  if (initial) return (await importFile(await findModelFile(initial.file), model, { ...initial, seed })).parameters
  return initialParametersInTurns(await inTurns(predictionGraphInPieces(model)), seed)
}
