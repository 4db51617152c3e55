import { dirname } from 'node:path'
import { ArbalestError, invalidOption, shown, warn } from '../errors.js'
import { predictionGraphInPieces } from '../model/graph-builder.js'
import { elements, parametersOf, type Value } from '../model/graph.js'
import type { Model } from '../model/model.js'
import { pixelNormalisation } from '../model/zoo/index.js'
import { DESCRIPTION, parseDescription } from './description.js'
import {
  checkedNormalisation,
  forChannels,
  isForChannels,
  isNumber,
  isPositive,
  parseEncoding,
  usualCrop,
  type SampleEncoding
} from './encoding.js'
import { corruptFile } from './file-errors.js'
import { isHuggingFaceFolder, readFolder } from './huggingface/folder.js'
import { readFolderModel } from './huggingface/read-folder-model.js'
import type { ReadModelOptions } from './import-options.js'
import { importFile, namedTensors, type ReadModel } from './import-weights.js'
import type { Normalisation } from '../model/normalisation.js'
import { SafetensorsFile } from './safetensors.js'
import { inTurns } from '../turns.js'

/** As `readModel`. */
export async function readModelFile(
  path: string,
  { model: given, normalisation, classNames, context, ...options }: ReadModelOptions = {}
): Promise<ReadModel> {
  if (isHuggingFaceFolder(path)) {
    const parts = { model: given, normalisation, names: options.names }
    for (const [part, value] of Object.entries(parts))
      if (value !== undefined) throw invalidOption(part, value, `leave it out: ${path} describes its model`)
    return readFolderModel(path, { classNames, context, ...options })
  }
  if (context !== undefined)
    throw invalidOption('context', context, 'leave it out: only a Hugging Face folder of a model of texts takes it')
  const { metadata, elementCount } = await headerOf(path)
  const model = given ?? (await describedModel(metadata, elementCount, path))
  const { parameters, statistics, loaded, initialised, unused } = await importFile(path, model, options)
  const encoding = encodingOf(metadata, path, model)
  const names = listOf(metadata, 'classes', path, (name): name is string => typeof name === 'string') ?? classNames
  const known = normalisationOf(metadata, path, model) ?? (normalisation && checkedNormalisation(normalisation, model))
  return {
    model,
    ...(await namedTensors(model, { parameters, statistics })),
    normalisation: known ?? pixelNormalisation(model) ?? unknownNormalisation(path, model),
    ...(names && { classNames: names }),
    ...(encoding && { encoding }),
    loaded,
    initialised,
    unused
  }
}

type Metadata = SafetensorsFile['metadata']

async function headerOf(path: string): Promise<{ metadata: Metadata; elementCount: number }> {
  await using file = await SafetensorsFile.open(path)
  return { metadata: file.metadata, elementCount: [...file.tensors.values()].reduce((sum, { shape }) => sum + elements(shape), 0) }
}

async function describedModel(metadata: Metadata, elementCount: number, path: string): Promise<Model> {
  const text = metadata[DESCRIPTION]
  if (text !== undefined) {
    const model = await parseDescription(text, path)
    const needed = (await parametersIn(model)).reduce((sum, { shape }) => sum + elements(shape), 0)
    // Before weights are initialised: a forged description must not take more memory than its file.
    if (needed <= elementCount) return model
    throw corruptFile(path, {
      where: `metadata ${DESCRIPTION}`,
      expected: `at most ${elementCount}, the elements of its tensors`,
      found: `a model of ${needed} parameters`
    })
  }
  const folder = dirname(path)
  const way = describesModel(folder) ? `name its folder, ${folder}, whose config.json does, or ` : ''
  const message = `model: received none; ${path} does not describe its model: ${way}give it with \`model\` (--model NAME)`
  throw new ArbalestError('INVALID_OPTION', message, { data: { parameter: 'model', file: path } })
}

/** Whether a folder is one of transformers that can be read. */
function describesModel(folder: string): boolean {
  if (!isHuggingFaceFolder(folder)) return false
  try {
    readFolder(folder)
    return true
  } catch {
    return false
  }
}

/** A file from elsewhere does not say how images were cropped: zoo models of photographs were measured with the usual crop, as their normalisation is the usual one. */
function encodingOf(metadata: Metadata, path: string, model: Model): SampleEncoding | undefined {
  const { encoding, [DESCRIPTION]: description } = metadata
  if (encoding !== undefined) return parseEncoding(encoding, path, model.input)
  const [, height = 0, width] = model.input
  const isElsewhere = description === undefined && pixelNormalisation(model) !== undefined && height === width
  return isElsewhere ? usualCrop(height) : undefined
}

function normalisationOf(metadata: Metadata, path: string, model: Model): Normalisation | undefined {
  const mean = listOf(metadata, 'mean', path, isNumber)
  const std = listOf(metadata, 'std', path, isPositive)
  for (const [key, list] of Object.entries({ mean, std }))
    if (list && !isForChannels(list, model))
      throw corruptFile(path, { where: `metadata ${key}`, expected: forChannels(model), found: shown(metadata[key]) })
  return mean && std && { mean, std }
}

/** Warns, because a model of images predicts badly without its normalisation but does not fail. */
function unknownNormalisation(path: string, { name, input }: Model): Normalisation {
  if (input.length === 3) warn(`${path}: the normalisation of model ${name} is unknown: samples stay in 0 to 1; give mean and std`)
  return { mean: [], std: [] }
}

function listOf<Item>(metadata: Metadata, key: string, path: string, holds: (item: unknown) => item is Item): readonly Item[] | undefined {
  const text = metadata[key]
  if (text === undefined) return undefined
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch {
    list = undefined
  }
  if (Array.isArray(list) && list.every(holds)) return list
  throw corruptFile(path, { where: `metadata ${key}`, expected: 'a list as JSON', found: shown(text) })
}

async function parametersIn(model: Model): Promise<readonly Value[]> {
  return parametersOf(await inTurns(predictionGraphInPieces(model)))
}
