import type { ModelFileOptions } from './find-model.js'

/**
 * The file of a trained model: `path` itself, the model file of a checkpoint, or the model file of the newest whole checkpoint in a folder, or of the best
 * one. Throws DATA_CORRUPT for a damaged checkpoint, and INVALID_OPTION for a folder without checkpoints, or with `best` without measured ones.
 */
export async function modelFile(path: string, options: ModelFileOptions = {}): Promise<string> {
  const { findModelFile } = await import('./find-model.js')
  return findModelFile(path, options)
}
