import { ArbalestError, printable, shown } from '../errors.js'
import { buildGraph } from '../model/graph-builder.js'
import { elements, parametersOf } from '../model/graph.js'
import type { Model } from '../model/model.js'
import { photographNormalisation } from '../model/zoo/photographs.js'
import { DESCRIPTION, parseDescription } from './description.js'
import { corruptFile } from './faults.js'
import { importWeights, type ImportedWeights, type ImportOptions } from './import.js'
import type { Normalisation } from './onnx/export.js'
import { SafetensorsFile } from './safetensors.js'
import type { SavedModel } from './save.js'
import type { FloatTensors } from './tensor.js'

/** What a file does not say of its model, and how its tensors find their places. */
export interface ReadModelOptions extends ImportOptions {
  /** The file's own where it describes one. A file of somebody else's has none, nor does one have the code of operators of one's own. */
  readonly model?: Model | undefined
  /** Where the file does not say; for the zoo's models of photographs in colour ImageNet's if left out. */
  readonly normalisation?: Normalisation | undefined
  readonly classNames?: readonly string[] | undefined
}

/** A model as it was read, and what came of the file's tensors. */
export interface ReadModel extends SavedModel, Pick<ImportedWeights, 'loaded' | 'initialised' | 'unused'> {}

/**
 * A model with its values from a safetensors file: what `save` has written, or any other in PyTorch's names with the `model` given.
 * Throws INVALID_OPTION where neither the file nor the caller says which model it is, and what `importWeights` throws.
 */
export async function readModel(
  path: string,
  { model: given, normalisation, classNames, ...options }: ReadModelOptions = {}
): Promise<ReadModel> {
  const { metadata, numbers } = await headOf(path)
  const model = given ?? described(metadata, numbers, path)
  const { parameters, statistics, loaded, initialised, unused } = await importWeights(path, model, options)
  const names = listOf(metadata, 'classes', path, (name): name is string => typeof name === 'string') ?? classNames
  return {
    model,
    weights: weightsOf(model, parameters),
    statistics: tensorsOf(statistics),
    normalisation: normalisationOf(metadata, path) ?? normalisation ?? photographNormalisation(model) ?? unknownNormalisation(path, model),
    ...(names && { classNames: names }),
    loaded,
    initialised,
    unused
  }
}

type Metadata = SafetensorsFile['metadata']

async function headOf(path: string): Promise<{ metadata: Metadata; numbers: number }> {
  await using file = await SafetensorsFile.open(path)
  return { metadata: file.metadata, numbers: [...file.tensors.values()].reduce((sum, { shape }) => sum + elements(shape), 0) }
}

function described(metadata: Metadata, numbers: number, path: string): Model {
  const text = metadata[DESCRIPTION]
  if (text !== undefined) {
    const model = parseDescription(text, path)
    const needed = parametersOf(buildGraph(model, { batch: 1, mode: 'predict' })).reduce((sum, { shape }) => sum + elements(shape), 0)
    // Whatever may start anew: a description must not cost more memory than its file.
    if (needed <= numbers) return model
    throw corruptFile(path, `metadata ${DESCRIPTION}`, `a model of ${needed} parameters`, `at most ${numbers}, as its tensors have`)
  }
  const message = `model: received none; ${path} does not describe its model: name it with \`model\` (--model NAME)`
  throw new ArbalestError('INVALID_OPTION', message, { data: { parameter: 'model', file: path } })
}

function normalisationOf(metadata: Metadata, path: string): Normalisation | undefined {
  const finite = (number: unknown): number is number => Number.isFinite(number)
  const mean = listOf(metadata, 'mean', path, finite)
  const deviation = listOf(metadata, 'deviation', path, (number): number is number => finite(number) && number > 0)
  return mean && deviation && { mean, deviation }
}

/** A model of images would predict all the same, and badly. */
function unknownNormalisation(path: string, { name, input }: Model): Normalisation {
  if (input.length === 3)
    process.emitWarning(
      `${path}: nothing says how model ${printable(name)} takes its samples: they stay in 0 to 1; give mean and deviation`
    )
  return { mean: [], deviation: [] }
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
  throw corruptFile(path, `metadata ${key}`, shown(text), 'a list as JSON')
}

/** Out of the canonical vector, parameter by parameter. */
function weightsOf(model: Model, vector: Float32Array): FloatTensors {
  let offset = 0
  const tensors = parametersOf(buildGraph(model, { batch: 1, mode: 'predict' })).map(({ name, shape }) => {
    const data = vector.subarray(offset, (offset += elements(shape)))
    return [name, { shape, data }] as const
  })
  return Object.fromEntries(tensors)
}

function tensorsOf(arrays: Readonly<Record<string, Float32Array>>): FloatTensors {
  return Object.fromEntries(Object.entries(arrays).map(([name, data]) => [name, { shape: [data.length], data }]))
}
