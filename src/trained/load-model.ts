import type { ModelFileOptions } from '../checkpoints/find-model.js'
import type { SavedModel } from '../formats/saved-model.js'
import type { LoadModelOptions } from './load-model-options.js'
import type { TrainedModel } from './trained-model.js'
import { refuseBundle } from '../package-version.js'

/**
 * Loads a trained model from a safetensors file, from a checkpoint, from a folder of checkpoints (the newest, or with `best` the best one), or from a folder of
 * Hugging Face's transformers; or from what the synchroniser of a run answers to `model()`. A file that `save` has written needs no options. For a file with PyTorch's names give `model` and, if the names differ, `names`.
 *
 * ```ts
 * const model = await loadModel('digits.safetensors')
 * const [best] = model.classify(await readImage('three.png', model))[0]
 * ```
 *
 * Throws DATA_NOT_FOUND, DATA_CORRUPT, SHAPE_MISMATCH, INVALID_OPTION, UNKNOWN_NAME, UNSUPPORTED_OPERATOR, ENGINE_MISSING.
 */
export async function loadModel(source: string | SavedModel, options: LoadModelOptions = {}): Promise<TrainedModel> {
  refuseBundle()
  const { openModel } = await import('./open-model.js')
  return openModel(source, options)
}

/**
 * The file of a trained model: `path` itself, the model file of a checkpoint, or the model file of the newest whole checkpoint in a folder, or of the best
 * one. Warns of newer ones that are damaged. Throws DATA_CORRUPT for a damaged checkpoint, and INVALID_OPTION for a folder without checkpoints, or with `best` without measured ones.
 */
export async function modelFile(path: string, options: ModelFileOptions = {}): Promise<string> {
  const { findModelFile } = await import('../checkpoints/find-model.js')
  return findModelFile(path, options)
}
