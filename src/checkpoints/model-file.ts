import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ArbalestError, invalidOption } from '../errors.js'
import { Checkpoint } from './checkpoint.js'
import { MODEL_FILE } from './files.js'
import { MANIFEST } from './manifest.js'
import { newestWhole } from './store.js'

/**
 * The file of a trained model: `path` itself, the one in a checkpoint, or that of the newest whole checkpoint in a folder of them. Throws
 * DATA_CORRUPT for a damaged checkpoint, and INVALID_OPTION for a folder that has none.
 */
export async function modelFile(path: string): Promise<string> {
  if (!existsSync(path) || !statSync(path).isDirectory()) return path
  const checkpoint = existsSync(join(path, MANIFEST)) ? await Checkpoint.open(path) : await newestWhole(path, () => {})
  if (!checkpoint) throw invalidOption('file', path, 'this folder has no whole checkpoint; name a model file or a checkpoint')
  if (checkpoint.manifest.files.some(({ name }) => name === MODEL_FILE)) return join(checkpoint.folder, MODEL_FILE)
  const message = `${checkpoint.folder}: it was taken while its model was being measured and has no model file; name an earlier one, or resume it`
  throw new ArbalestError('INVALID_STATE', message, { data: { folder: checkpoint.folder } })
}
