import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ArbalestError, invalidOption, warn } from '../errors.js'
import { foundAt } from '../formats/file-errors.js'
import { isHuggingFaceFolder } from '../formats/huggingface/folder.js'
import { modelPath } from '../formats/import-options.js'
import { check } from '../schema/faults.js'
import { group, option } from '../schema/group.js'
import { truth } from '../schema/values.js'
import { Checkpoint, MODEL_FILE } from './checkpoint.js'
import { MANIFEST } from './manifest.js'
import { monitorIn } from './model-worth.js'
import { bestOf, newestWhole } from './store.js'

/** Which checkpoint of a folder is taken. */
export interface ModelFileOptions {
  /** In a folder of checkpoints: the best measured one instead of the newest. */
  readonly best?: boolean | undefined
}

export const modelFileOptions = group({ best: option(truth(), { default: false }) })

/** As `modelFile`. */
export async function findModelFile(path: string, options: ModelFileOptions = {}): Promise<string> {
  check(modelPath, path, { path: 'path' })
  const { best } = check(modelFileOptions, options)
  const folder = foundAt(path)?.isDirectory() === true
  const several = folder && !existsSync(join(path, MANIFEST))
  if (best && !several) throw invalidOption('best', best, `${path} is no folder of checkpoints; leave it out`)
  if (!folder || isHuggingFaceFolder(path)) return path
  const checkpoint = !several ? await Checkpoint.open(path) : best ? await bestCheckpoint(path) : await newestWhole(path, passedOver)
  if (!checkpoint) throw invalidOption('file', path, 'this folder has no whole checkpoint; name a model file or a checkpoint')
  if (checkpoint.manifest.files.some(({ name }) => name === MODEL_FILE)) return join(checkpoint.folder, MODEL_FILE)
  const message = `${checkpoint.folder}: it was taken while its model was being measured and has no model file; name an earlier one, or resume it`
  throw new ArbalestError('INVALID_STATE', message, { data: { folder: checkpoint.folder } })
}

/** Warns, because the model of an earlier checkpoint is another one. */
function passedOver(_folder: string, { message }: ArbalestError): void {
  warn(`a newer checkpoint is passed over: ${message}`)
}

/** By the figure that the run has monitored last. */
async function bestCheckpoint(folder: string): Promise<Checkpoint> {
  const newest = await newestWhole(folder, () => {})
  const found = newest && (await bestOf(folder, { monitor: monitorIn(newest.manifest) }))
  if (found) return Checkpoint.open(found.folder)
  throw invalidOption('best', true, `no checkpoint of ${folder} was measured; leave it out for the newest`)
}
