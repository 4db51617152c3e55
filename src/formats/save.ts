import { existsSync } from 'node:fs'
import { extname, join } from 'node:path'
import { invalidOption } from '../errors.js'
import { loadOperators } from '../model/composed.js'
import type { Model } from '../model/model.js'
import { familyOf, modelNamed } from '../model/zoo/index.js'
import { absolutePath } from '../node.js'
import { check } from '../schema/faults.js'
import { group, option } from '../schema/group.js'
import { oneOf, truth } from '../schema/values.js'
import { checkFolderModel, checkNewFolder, saveFolder } from './huggingface/save-folder.js'
import { checkSaved, type SavedModel } from './saved-model.js'
import { DESCRIPTION, describe } from './description.js'
import { checkOnnx, exportOnnx } from './onnx/export.js'
import { modelPath } from './import-options.js'
import { toPyTorchName } from './import-weights.js'
import { checkReplaceable, replaceFile, writeAll } from './write-file.js'
import { writeSafetensors } from './safetensors.js'

/** The file formats of saved models. */
export type ModelFormat = 'safetensors' | 'onnx' | 'huggingface'

/** How `save` writes a model. */
export interface SaveOptions {
  /** By the path's end if omitted: `.onnx`, `.safetensors`, or `/` for `huggingface`, a folder for Hugging Face's transformers. */
  readonly format?: ModelFormat
  /** ONNX only: whether the network normalises its input and so takes samples in 0 to 1; true if omitted. */
  readonly normalise?: boolean
}

const saveOptions = group({ format: option(oneOf(['safetensors', 'onnx', 'huggingface'])), normalise: option(truth()) })

const SAVERS: Readonly<Record<ModelFormat, (path: string, saved: SavedModel, options: SaveOptions) => Promise<void>>> = {
  async onnx(path, { model, weights, statistics, normalisation, classNames, encoding }, { normalise = true }) {
    await loadOperators(model)
    const bytes = exportOnnx(model, { ...weights, ...statistics }, { classNames, encoding, ...(normalise && { normalisation }) })
    await replaceFile(path, { sync: true, bytes: bytes.byteLength }, (handle) => writeAll(handle, bytes))
  },
  async safetensors(path, { model, weights, statistics, normalisation: { mean, std }, classNames, encoding }) {
    // Without the counts of averaged batches, which other libraries do not know.
    const moments = Object.entries(statistics).filter(([name]) => !name.endsWith('.count'))
    const named = [...Object.entries(weights), ...moments].map(([name, tensor]) => [toPyTorchName(name), tensor] as const)
    const metadata = {
      format: 'pt',
      model: model.name,
      mean: JSON.stringify(mean),
      std: JSON.stringify(std),
      ...(classNames && { classes: JSON.stringify(classNames) }),
      ...(encoding && { encoding: JSON.stringify(encoding) }),
      [DESCRIPTION]: describe(model)
    }
    await writeSafetensors(path, named, { metadata })
  },
  huggingface: (path, saved) => saveFolder(path, saved)
}

/** As `saveModel`. */
export async function writeModel(path: string, saved: SavedModel, given: SaveOptions = {}): Promise<void> {
  check(modelPath, path, { path: 'path' })
  const options = check(saveOptions, given)
  checkSaved(saved)
  const format = options.format ?? formatOf(path)
  if (options.normalise === false && format !== 'onnx')
    throw invalidOption('normalise', false, `leave it out: only ONNX contains the normalisation, and the file is written as ${format}`)
  await SAVERS[format](path, saved, options)
}

/** As `checkSavePath`. */
export async function checkPath(path: string, model?: Model | string): Promise<void> {
  const format = formatOf(path)
  if (format === 'huggingface') {
    checkNewFolder(path)
    await checkReplaceable(existsSync(path) ? join(path, 'config.json') : absolutePath(path))
    if (model !== undefined) checkFolderModel(typeof model === 'string' ? usualModel(model) : model)
    return
  }
  await checkReplaceable(path)
  // Models of the zoo have a form in ONNX.
  if (model === undefined || typeof model === 'string' || format !== 'onnx') return
  await loadOperators(model)
  checkOnnx(model)
}

/** The zoo's model for the data that it is usually trained on. */
function usualModel(name: string): Model {
  return modelNamed(name, familyOf(name)?.usual ?? { input: [1], classes: 1 })
}

function formatOf(path: string): ModelFormat {
  const ending = typeof path === 'string' ? extname(path).slice(1) : ''
  if (ending === 'onnx' || ending === 'safetensors') return ending
  if (typeof path === 'string' && path.endsWith('/')) return 'huggingface'
  throw invalidOption('path', path, 'end it in .onnx or .safetensors, or in / for a folder of transformers, or give the format')
}
