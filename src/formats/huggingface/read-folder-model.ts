import { invalidOption } from '../../errors.js'
import type { Model } from '../../model/model.js'
import { pixelNormalisation } from '../../model/zoo/index.js'
import type { SampleEncoding } from '../encoding.js'
import type { ImportOptions } from '../import-options.js'
import { importTensors, matchTensors, namedTensors, type ImportedWeights, type ReadModel, type TensorSource } from '../import-weights.js'
import type { Wanted } from './architecture.js'
import { readFolder, type HuggingFaceFolder } from './folder.js'
import { FolderWeights } from './folder-weights.js'
import { RuledTensors } from './tensor-rules.js'

/**
 * The weights of a folder for its model to be trained further, or for one with other classes: a head that the folder lacks, or that has other classes, is initialised anew by `seed`.
 * Throws SHAPE_MISMATCH with all tensors that do not fit, DATA_NOT_FOUND, DATA_CORRUPT.
 */
export async function firstFolderWeights(folder: HuggingFaceFolder, model: Model, seed: number): Promise<ImportedWeights> {
  await using files = await FolderWeights.open(folder.path, folder.weights)
  const { tensors, reinitialise } = withNewHead(folder, tensorsOf(folder, files, model), model)
  return await importTensors(tensors, model, { reinitialise, seed })
}

/** Checks the names and shapes of a folder's weights before any is read. Throws what `firstFolderWeights` throws. */
export async function checkFolderWeights(folder: HuggingFaceFolder, model: Model): Promise<void> {
  await using files = await FolderWeights.open(folder.path, folder.weights)
  const { tensors, reinitialise } = withNewHead(folder, tensorsOf(folder, files, model), model)
  await matchTensors(tensors, model, { reinitialise })
}

function tensorsOf({ architecture, model: { rules } }: HuggingFaceFolder, files: FolderWeights, model: Model): RuledTensors {
  return new RuledTensors(files, rules(model), architecture)
}

/** The tensors without those of a head that training begins anew, and what is initialised then. */
function withNewHead({ architecture: { head }, model: { classes } }: HuggingFaceFolder, tensors: RuledTensors, model: Model) {
  const outputs = headOf(model, head)
  const isNew = outputs !== undefined && (outputs !== classes || !tensors.tensors.has(`${head}.weight`))
  return isNew ? { tensors: without(tensors, head), reinitialise: [head] } : { tensors, reinitialise: [] }
}

/** A head of other classes is ignored, whatever its shape. */
function without(source: RuledTensors, head: string): TensorSource {
  const kept = [...source.tensors].filter(([name]) => !name.startsWith(`${head}.`))
  return { path: source.path, tensors: new Map(kept), read: (name) => source.read(name) }
}

/** The outputs of a head with weights of its own; undefined for one that has an embedding's. */
function headOf({ layers }: Model, name: string): number | undefined {
  const head = layers.find((layer) => layer.kind === 'linear' && layer.name === name)
  return head?.kind === 'linear' && head.tied === undefined ? head.features : undefined
}

/** What a caller wants of a folder's model, and how its tensors find their places. */
export interface FolderReading extends Pick<ImportOptions, 'reinitialise' | 'strict' | 'seed'> {
  /** Positions of a model of texts; as many as the folder has if omitted. */
  readonly context?: number | undefined
  /** Used if the folder has none. */
  readonly classNames?: readonly string[] | undefined
}

/**
 * The model of a folder with its weights. A head that the folder lacks is one of its missing tensors: with random weights it would predict nonsense. Throws the errors of `readFolder`
 * and of `importWeights`, INVALID_OPTION.
 */
export async function readFolderModel(path: string, { context, classNames, ...options }: FolderReading = {}): Promise<ReadModel> {
  const folder = readFolder(path)
  const { samples } = folder.architecture
  if (context !== undefined && samples !== 'tokens') throw invalidOption('context', context, `leave it out: ${path} is no model of texts`)
  const model = folder.model.modelFor(wantedOf(folder, context))
  await using files = await FolderWeights.open(folder.path, folder.weights)
  const { parameters, statistics, loaded, initialised, unused } = await importTensors(tensorsOf(folder, files, model), model, options)
  const names = folder.classNames ?? classNames
  return {
    model,
    ...(await namedTensors(model, { parameters, statistics })),
    normalisation: folder.pixels?.normalisation ?? pixelNormalisation(model) ?? { mean: [], std: [] },
    ...(names && { classNames: names }),
    ...encodingOf(folder, model),
    loaded,
    initialised,
    unused
  }
}

function wantedOf({ model, pixels }: HuggingFaceFolder, context: number | undefined): Wanted {
  if (context !== undefined) return { input: [context] }
  const { channels, imageSize: side = pixels?.size } = model
  return side === undefined || channels === undefined ? {} : { input: [channels, side, side] }
}

function encodingOf(
  { tokenizer, pixels, model: { classes } }: HuggingFaceFolder,
  { input }: Model
): { readonly encoding?: SampleEncoding } {
  if (tokenizer) return { encoding: { kind: 'language', tokenizer, vocabulary: classes, length: input[0]! } }
  const [channels, side = 0] = input
  const { size, resize, stretch } = pixels ?? {}
  if (size === undefined || resize === undefined || (channels !== 1 && channels !== 3)) return {}
  // In their ratio: the images of the model may have another size than those of the preprocessor.
  return { encoding: { kind: 'image', resize: side * (resize / size), ...(stretch && { stretch }) } }
}
