import { ArbalestError, invalidOption, printable, shown } from '../errors.js'
import { predictionGraphInPieces } from '../model/graph-builder.js'
import { elements, parametersOf, sameShape, type Graph, type Value } from '../model/graph.js'
import { initialParametersInTurns } from '../model/initialise.js'
import type { Model } from '../model/model.js'
import { familyOf } from '../model/zoo/families.js'
import { corruptFile } from './file-errors.js'
import type { ImportOptions } from './import-options.js'
import { SafetensorsFile, type TensorEntry } from './safetensors.js'
import type { SavedModel } from './saved-model.js'
import { inTurns } from '../turns.js'

/** The most faults that a message lists; the error's `data` has all of them. */
const FAULTS_LISTED = 12

/** A model's weights and statistics from a file. */
export interface ImportedWeights {
  /** All parameters in canonical order: the file's values, and initial values for parameters that the file lacks. */
  readonly parameters: Float32Array
  /** Running mean and variance of every batch norm by name; 0 and 1 if the file has none. */
  readonly statistics: Readonly<Record<string, Float32Array>>
  /** The model's names that the file has values for. */
  readonly loaded: readonly string[]
  /** The model's names that got initial values. */
  readonly initialised: readonly string[]
  /** The file's names that the model does not have. */
  readonly unused: readonly string[]
}

/** As `importWeights`. */
export async function importFile(path: string, model: Model, options: ImportOptions = {}): Promise<ImportedWeights> {
  await using file = await SafetensorsFile.open(path)
  return await importTensors(file, model, options)
}

/** Tensors by name, with their types and shapes known before they are read: an open safetensors file, or several of them. */
export type TensorSource = Pick<SafetensorsFile, 'path' | 'tensors' | 'read'>

/** Which tensor is which value of a model, before any is read. Throws SHAPE_MISMATCH with all faults at once, UNKNOWN_NAME. */
export async function matchTensors(file: TensorSource, model: Model, options: ImportOptions = {}) {
  const { path } = file
  const { reinitialise = [], strict = true } = options
  const graph = await inTurns(predictionGraphInPieces(model))
  const targets = targetsOf(graph)
  const reset = reinitialisedNames(targets, reinitialise, model)
  const { sources, unused, clashes } = match(file, targets, reset, { names: options.names, leftOut: familyOf(model.name)?.leftOut })
  const missing = [...targets.keys()].filter((name) => !sources.has(name) && !reset.has(name))
  const mismatches = [...sources].flatMap(([name, source]) => mismatch(targets.get(name)!, source, file.tensors.get(source)!))
  const unmatched = strict
    ? [
        ...missing.map((name) => `${printable(name)} is not in the file`),
        ...unused.map((name) => `${printable(name)} of the file is not in the model`)
      ]
    : []
  const faults = [...mismatches, ...clashes, ...unmatched]
  if (faults.length > 0) throw unsuitableFile(path, model, faults)
  return { graph, targets, sources, unused }
}

/** As `importWeights`, from tensors of any origin. */
export async function importTensors(file: TensorSource, model: Model, options: ImportOptions = {}): Promise<ImportedWeights> {
  const { path } = file
  const { graph, targets, sources, unused } = await matchTensors(file, model, options)
  const { seed = 0 } = options
  const parameters = await initialParametersInTurns(graph, seed)
  const vectors = vectorsOf(graph, parameters)
  for (const [name, source] of sources) vectors.get(name)!.set(finite((await file.read(source)).data as Floats, { path, source }))
  return {
    parameters,
    statistics: Object.fromEntries([...vectors].filter(([name]) => targets.get(name)!.role === 'statistic')),
    loaded: [...sources.keys()],
    initialised: [...targets.keys()].filter((name) => !sources.has(name)),
    unused
  }
}

/** The values that a file can have: parameters and running averages, without the averages' counts. */
function targetsOf(graph: Graph): ReadonlyMap<string, Value> {
  const averages = graph.values.filter(({ role, name }) => role === 'statistic' && !name.endsWith('.count'))
  return new Map([...parametersOf(graph), ...averages].map((value) => [value.name, value]))
}

function reinitialisedNames(targets: ReadonlyMap<string, Value>, reinitialise: readonly string[], model: Model): ReadonlySet<string> {
  const matched = new Set<string>()
  for (const layer of reinitialise) {
    const pattern = new RegExp(`^${layer.split('*').map(escaped).join('.*')}(\\.|$)`)
    const names = [...targets.keys()].filter((name) => pattern.test(name))
    if (names.length === 0)
      throw new ArbalestError(
        'UNKNOWN_NAME',
        `reinitialise: received ${shown(layer)}; model ${model.name} has no such layer: use names of ${[...targets.keys()].join(', ')}`
      )
    for (const name of names) matched.add(name)
  }
  return matched
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

interface Matches {
  /** From the model's names to the file's. */
  readonly sources: ReadonlyMap<string, string>
  readonly unused: readonly string[]
  /** A fault for each name of the model that two names of the file map to. */
  readonly clashes: readonly string[]
}

function match(
  { tensors }: TensorSource,
  targets: ReadonlyMap<string, Value>,
  reset: ReadonlySet<string>,
  { names, leftOut }: { readonly names: ImportOptions['names']; readonly leftOut: RegExp | undefined }
): Matches {
  const sources = new Map<string, string>()
  const unused: string[] = []
  const clashes: string[] = []
  const prefix = names === undefined ? prefixOf([...tensors.keys()], targets) : ''
  for (const theirs of tensors.keys()) {
    const translated = translate(theirs.slice(prefix.length), names)
    if (translated === undefined || isBatchCounter(theirs)) continue
    const ours = fromPyTorchName(translated)
    if (reset.has(ours)) continue
    if (!targets.has(ours)) {
      if (!leftOut?.test(ours)) unused.push(theirs)
    } else if (sources.has(ours)) clashes.push(printable(`${ours} is both ${sources.get(ours)} and ${theirs} of the file`))
    else sources.set(ours, theirs)
  }
  return { sources, unused, clashes }
}

/** What stands before every name of a file whose names are otherwise the model's, such as `module.` of PyTorch's DataParallel and `_orig_mod.` of a compiled model; else an empty text. */
function prefixOf(theirs: readonly string[], targets: ReadonlyMap<string, Value>): string {
  const [first = ''] = theirs
  let prefix = ''
  while (!theirs.some((name) => targets.has(fromPyTorchName(name.slice(prefix.length))))) {
    const end = first.indexOf('.', prefix.length) + 1
    prefix = first.slice(0, end)
    if (end === 0 || !theirs.every((name) => name.startsWith(prefix))) return ''
  }
  return prefix
}

function translate(name: string, names: ImportOptions['names'] = {}): string | undefined {
  const translated: unknown = typeof names === 'function' ? names(name) : Object.hasOwn(names, name) ? names[name] : name
  if (translated === undefined || typeof translated === 'string') return translated
  throw invalidOption('names', translated, `give a text as the model's name of ${shown(name)}, or undefined to ignore it`)
}

/** Whether a tensor has the elements that weights have. */
export function hasFloats({ type }: Pick<TensorEntry, 'type'>): boolean {
  return /^B?F\d+$/.test(type)
}

function mismatch({ name, shape }: Value, source: string, { type, shape: found }: TensorEntry): string[] {
  const what = printable(name === source ? name : `${name} (${source} of the file)`)
  if (!hasFloats({ type })) return [`${what} has elements of type ${type}; the model needs floats`]
  return sameShape(shape, found) ? [] : [`${what} is ${shown(found)} in the file and ${shown(shape)} in the model`]
}

type Floats = Float32Array | Float64Array

/** Throws DATA_CORRUPT unless all numbers are finite as float32: a model with a NaN may give predictions that look plausible. */
function finite(data: Floats, { path, source }: { readonly path: string; readonly source: string }): Floats {
  const at = data.findIndex((value) => !Number.isFinite(Math.fround(value)))
  if (at < 0) return data
  throw corruptFile(path, { where: `tensor ${source}`, expected: 'finite numbers of float32', found: `${data[at]} as element ${at}` })
}

function unsuitableFile(path: string, model: Model, faults: readonly string[]): ArbalestError {
  const rest = faults.length - FAULTS_LISTED
  const listed = [...faults.slice(0, FAULTS_LISTED), ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ')
  const message = `${path}: ${faults.length} of its tensors do not fit model ${printable(model.name)}: ${listed}; translate names with \`names\`, list layers to initialise anew in \`reinitialise\` (--reinitialise), or ignore missing and unused tensors with \`strict: false\` (--no-strict; train has no flag for it)`
  return new ArbalestError('SHAPE_MISMATCH', message, { data: { file: path, model: model.name, faults } })
}

/** A model read from a file or a folder, and which of its tensors it used. */
export interface ReadModel extends SavedModel, Pick<ImportedWeights, 'loaded' | 'initialised' | 'unused'> {}

/** Views of the canonical vector by name, one for each parameter, and the statistics. */
export async function namedTensors(
  model: Model,
  { parameters, statistics }: Pick<ImportedWeights, 'parameters' | 'statistics'>
): Promise<Pick<SavedModel, 'weights' | 'statistics'>> {
  let offset = 0
  const weights = parametersOf(await inTurns(predictionGraphInPieces(model))).map(({ name, shape }) => {
    const data = parameters.subarray(offset, (offset += elements(shape)))
    return [name, { shape, data }] as const
  })
  const moments = Object.entries(statistics).map(([name, data]) => [name, { shape: [data.length], data }] as const)
  return { weights: Object.fromEntries(weights), statistics: Object.fromEntries(moments) }
}

/** The memory of each value: parameters in the canonical vector, statistics in arrays of their own. */
function vectorsOf(graph: Graph, parameters: Float32Array): ReadonlyMap<string, Float32Array> {
  const vectors = new Map<string, Float32Array>()
  let offset = 0
  for (const { name, shape } of parametersOf(graph)) {
    vectors.set(name, parameters.subarray(offset, (offset += elements(shape))))
  }
  for (const [name, { role, shape }] of targetsOf(graph))
    if (role === 'statistic') vectors.set(name, new Float32Array(elements(shape)).fill(name.endsWith('.runningVariance') ? 1 : 0))
  return vectors
}

/** The names of a batch norm's statistics, ours and PyTorch's; all other names agree if a model's layers have PyTorch's names. */
const STATISTIC_SUFFIXES = [
  ['.runningMean', '.running_mean'],
  ['.runningVariance', '.running_var']
] as const

export function toPyTorchName(name: string): string {
  const suffix = STATISTIC_SUFFIXES.find(([ours]) => name.endsWith(ours))
  return suffix ? name.slice(0, -suffix[0].length) + suffix[1] : name
}

export function fromPyTorchName(name: string): string {
  const suffix = STATISTIC_SUFFIXES.find(([, theirs]) => name.endsWith(theirs))
  return suffix ? name.slice(0, -suffix[1].length) + suffix[0] : name
}

/** PyTorch counts the batches that a batch norm has seen; our running averages have a count of their own. */
function isBatchCounter(name: string): boolean {
  return name.endsWith('num_batches_tracked')
}
