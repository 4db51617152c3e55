import { ArbalestError, printable, shown } from '../errors.js'
import { buildGraph } from '../model/graph-builder.js'
import { elements, parametersOf, type Graph, type Value } from '../model/graph.js'
import { initialParametersInTurns } from '../model/initialise.js'
import type { Model } from '../model/model.js'
import { corruptFile } from './faults.js'
import { fromPyTorchName, isBatchCounter } from './pytorch-names.js'
import { SafetensorsFile, type TensorEntry } from './safetensors.js'

/** Faults that a message spells out; its error's `data` has all of them. */
const MOST_TOLD = 12

/** How a file's tensors find their places in a model. */
export interface ImportOptions {
  /**
   * From the file's names to the model's: a record for those that differ, or a function, which gives undefined for what shall be left
   * out. What comes of it may have PyTorch's `running_mean` and `running_var`.
   */
  readonly names?: Readonly<Record<string, string>> | ((name: string) => string | undefined)
  /** Layers or parameters that start anew whatever the file holds: `fc` stands for `fc.weight` and `fc.bias`, `*` for any characters. */
  readonly fresh?: readonly string[]
  /** Every tensor of the file must have a place and every place a tensor; true if left out. Shapes must always agree. */
  readonly strict?: boolean
  /** Where the values of fresh and missing parameters come from; 0 if left out. */
  readonly seed?: number
}

/** A model's values as they were in a file. */
export interface ImportedWeights {
  /** All parameters in canonical order: those of the file, and initial values for the others. */
  readonly parameters: Float32Array
  /** Running mean and variance of every batch norm by name; 0 and 1 where the file has none. */
  readonly statistics: Readonly<Record<string, Float32Array>>
  /** Names of the model that the file filled, those that it did not, and names of the file that were not used. */
  readonly loaded: readonly string[]
  readonly initialised: readonly string[]
  readonly unused: readonly string[]
}

/**
 * Reads a safetensors file in PyTorch's names and layouts as a model's weights, for prediction or to train on from them; the model's layers
 * carry PyTorch's names or `names` translates. F64, F16 and BF16 become float32; `num_batches_tracked` is passed over.
 *
 * Throws SHAPE_MISMATCH with every fault at once, DATA_CORRUPT for a number that is not finite, UNKNOWN_NAME where `fresh` names nothing, and what reading the file throws.
 */
export async function importWeights(path: string, model: Model, options: ImportOptions = {}): Promise<ImportedWeights> {
  const { fresh = [], strict = true, seed = 0 } = options
  const graph = buildGraph(model, { batch: 1, mode: 'predict' })
  const places = placesOf(graph)
  const renewed = renewedPlaces(places, fresh, model)
  await using file = await SafetensorsFile.open(path)
  const { sources, unused, clashes } = match(file, places, renewed, options.names)
  const missing = [...places.keys()].filter((name) => !sources.has(name) && !renewed.has(name))
  const misfits = [...sources].flatMap(([name, source]) => misfit(places.get(name)!, source, file.tensors.get(source)!))
  const strangers = strict
    ? [
        ...missing.map((name) => `${printable(name)} is not in the file`),
        ...unused.map((name) => `${printable(name)} of the file has no place in the model`)
      ]
    : []
  const faults = [...misfits, ...clashes, ...strangers]
  if (faults.length > 0) throw unsuitable(path, model, faults)

  const parameters = await initialParametersInTurns(graph, seed)
  const into = vectorsOf(graph, parameters)
  for (const [name, source] of sources) into.get(name)!.set(finite((await file.read(source)).data as Float32Array, { path, source }))
  return {
    parameters,
    statistics: Object.fromEntries([...into].filter(([name]) => places.get(name)!.role === 'statistic')),
    loaded: [...sources.keys()],
    initialised: [...places.keys()].filter((name) => !sources.has(name)),
    unused
  }
}

/** What a file can fill: parameters, and statistics but for their counts. */
function placesOf(graph: Graph): ReadonlyMap<string, Value> {
  const averages = graph.values.filter(({ role, name }) => role === 'statistic' && !name.endsWith('.count'))
  return new Map([...parametersOf(graph), ...averages].map((value) => [value.name, value]))
}

function renewedPlaces(places: ReadonlyMap<string, Value>, fresh: readonly string[], model: Model): ReadonlySet<string> {
  const renewed = new Set<string>()
  for (const layer of fresh) {
    const pattern = new RegExp(`^${layer.split('*').map(escaped).join('.*')}(\\.|$)`)
    const names = [...places.keys()].filter((name) => pattern.test(name))
    if (names.length === 0)
      throw new ArbalestError(
        'UNKNOWN_NAME',
        `fresh: received ${shown(layer)}; model ${model.name} has no such layer: use names of ${[...places.keys()].join(', ')}`
      )
    for (const name of names) renewed.add(name)
  }
  return renewed
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

interface Matches {
  /** The file's name for a name of the model. */
  readonly sources: ReadonlyMap<string, string>
  readonly unused: readonly string[]
  /** Two names of the file for one of the model. */
  readonly clashes: readonly string[]
}

function match(
  { tensors }: SafetensorsFile,
  places: ReadonlyMap<string, Value>,
  renewed: ReadonlySet<string>,
  names: ImportOptions['names']
): Matches {
  const sources = new Map<string, string>()
  const unused: string[] = []
  const clashes: string[] = []
  for (const theirs of tensors.keys()) {
    const translated = translate(theirs, names)
    if (translated === undefined || isBatchCounter(theirs)) continue
    const ours = fromPyTorchName(translated)
    if (renewed.has(ours)) continue
    if (!places.has(ours)) unused.push(theirs)
    else if (sources.has(ours)) clashes.push(printable(`${ours} is both ${sources.get(ours)} and ${theirs} of the file`))
    else sources.set(ours, theirs)
  }
  return { sources, unused, clashes }
}

function translate(name: string, names: ImportOptions['names'] = {}): string | undefined {
  if (typeof names === 'function') return names(name)
  return Object.hasOwn(names, name) ? names[name] : name
}

function misfit({ name, shape }: Value, source: string, { type, shape: found }: TensorEntry): string[] {
  const what = printable(name === source ? name : `${name} (${source} of the file)`)
  if (!/^B?F\d+$/.test(type)) return [`${what} has elements of type ${type} where it takes floats`]
  return shown(shape) === shown(found) ? [] : [`${what} is ${shown(found)} where the model has ${shown(shape)}`]
}

/** Throws DATA_CORRUPT for what is no finite number as a float32: a model with one may give answers that look sound. */
function finite(data: Float32Array, { path, source }: { readonly path: string; readonly source: string }): Float32Array {
  const at = data.findIndex((value) => !Number.isFinite(value))
  if (at < 0) return data
  throw corruptFile(path, `tensor ${source}`, `${data[at]} as element ${at}`, 'finite numbers of float32')
}

function unsuitable(path: string, model: Model, faults: readonly string[]): ArbalestError {
  const rest = faults.length - MOST_TOLD
  const told = [...faults.slice(0, MOST_TOLD), ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ')
  const message = `${path}: ${faults.length} of its tensors do not suit model ${printable(model.name)}: ${told}; translate names with \`names\`, list what shall start anew in \`fresh\` (--fresh, of train --init-skip), or pass over what is missing and left over with \`strict: false\` (--no-strict; train has no flag for it)`
  return new ArbalestError('SHAPE_MISMATCH', message, { data: { file: path, model: model.name, faults } })
}

/** Where each value goes: parameters into the canonical vector, statistics into arrays of their own. */
function vectorsOf(graph: Graph, parameters: Float32Array): ReadonlyMap<string, Float32Array> {
  const vectors = new Map<string, Float32Array>()
  let offset = 0
  for (const { name, shape } of parametersOf(graph)) {
    vectors.set(name, parameters.subarray(offset, (offset += elements(shape))))
  }
  for (const [name, { role, shape }] of placesOf(graph))
    if (role === 'statistic') vectors.set(name, new Float32Array(elements(shape)).fill(name.endsWith('.runningVariance') ? 1 : 0))
  return vectors
}
