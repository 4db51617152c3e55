import { checkModel, type Model } from '../model/model.js'
import { check } from '../schema/faults.js'
import type { ImportOptions, ReadModelOptions } from './import-options.js'
import type { ImportedWeights, ReadModel } from './import-weights.js'
import type { SaveOptions } from './save.js'
import type { SavedModel } from './saved-model.js'

// A program that imports this package starts without the formats, which are loaded when they are first called for.

/**
 * Reads a model's weights from a safetensors file with PyTorch's names and layouts, for prediction or fine-tuning. The model's layers have
 * PyTorch's names, or `names` translates them. F64, F16 and BF16 become float32; `num_batches_tracked` is ignored.
 *
 * Throws SHAPE_MISMATCH with all faults at once, DATA_CORRUPT for a number that is not finite, UNKNOWN_NAME if an entry of `reinitialise` matches
 * nothing, and the errors of SafetensorsFile.
 */
export async function importWeights(path: string, model: Model, options: ImportOptions = {}): Promise<ImportedWeights> {
  const { importOptions, modelPath } = await import('./import-options.js')
  check(modelPath, path, { path: 'path' })
  checkModel(model)
  check(importOptions, options)
  const { importFile } = await import('./import-weights.js')
  return importFile(path, model, options)
}

/**
 * A model with its weights from a safetensors file: one that `save` has written, or any other with PyTorch's names if `model` is given. Or from a folder as
 * `save_pretrained` of Hugging Face's transformers writes it (config.json, model.safetensors or its shards, a tokenizer) of GPT-2, a ResNet or a ViT.
 * Throws INVALID_OPTION if neither the file nor the caller describes the model, and the errors of `importWeights`; for a folder also UNKNOWN_NAME for another architecture, and
 * UNSUPPORTED_OPERATOR.
 */
export async function readModel(path: string, options: ReadModelOptions = {}): Promise<ReadModel> {
  const { modelPath, readModelOptions } = await import('./import-options.js')
  check(modelPath, path, { path: 'path' })
  check(readModelOptions, options)
  const { readModelFile } = await import('./read-model.js')
  return readModelFile(path, options)
}

/** Writes a model to a file, as `TrainedModel.save` does. Throws INVALID_OPTION and WRITE_FAILED. */
export async function saveModel(path: string, saved: SavedModel, options: SaveOptions = {}): Promise<void> {
  const { writeModel } = await import('./save.js')
  await writeModel(path, saved, options)
}

/**
 * Checks before training that `saveModel` can write to a path, and the model, or the zoo's of a name, in the path's format if one is given. Throws
 * INVALID_OPTION, WRITE_FAILED and UNSUPPORTED_OPERATOR.
 */
export async function checkSavePath(path: string, model?: Model | string): Promise<void> {
  const { checkPath } = await import('./save.js')
  await checkPath(path, model)
}
