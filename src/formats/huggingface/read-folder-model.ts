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

/** How a folder's tensors find their places. */
export type FolderImport = Pick<ImportOptions, 'reinitialise' | 'strict' | 'seed'>

/**
 * The weights of a folder for its model, or for one with other classes: its head is initialised anew then. Throws SHAPE_MISMATCH with all tensors that do not fit,
 * DATA_NOT_FOUND, DATA_CORRUPT.
 */
export async function folderWeights(folder: HuggingFaceFolder, model: Model, options: FolderImport = {}): Promise<ImportedWeights> {
  await using files = await FolderWeights.open(folder.path, folder.weights)
  return await importTensors(...placesOf(folder, files, model, options))
}

/** Checks the names and shapes of a folder's weights before any is read. Throws what `folderWeights` throws. */
export async function checkFolderWeights(folder: HuggingFaceFolder, model: Model): Promise<void> {
  await using files = await FolderWeights.open(folder.path, folder.weights)
  await matchTensors(...placesOf(folder, files, model, {}))
}

/** What the import of a folder's tensors takes. */
function placesOf(
  folder: HuggingFaceFolder,
  files: FolderWeights,
  model: Model,
  { reinitialise = [], ...options }: FolderImport
): [TensorSource, Model, ImportOptions] {
  const { architecture } = folder
  const tensors = new RuledTensors(files, folder.model.rules(model), architecture)
  const head = headOf(model, architecture.head)
  const isOther = head !== undefined && (head !== folder.model.classes || !tensors.tensors.has(`${architecture.head}.weight`))
  const source = isOther ? without(tensors, architecture.head) : tensors
  return [source, model, { ...options, reinitialise: isOther ? [...reinitialise, architecture.head] : reinitialise }]
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

/** What a caller wants of a folder's model. */
export interface FolderReading extends FolderImport {
  /** Positions of a model of texts; as many as the folder has if omitted. */
  readonly context?: number | undefined
}

/** The model of a folder with its weights. Throws the errors of `readFolder` and of `folderWeights`, INVALID_OPTION. */
export async function readFolderModel(path: string, { context, ...options }: FolderReading = {}): Promise<ReadModel> {
  const folder = readFolder(path)
  const { samples } = folder.architecture
  if (context !== undefined && samples !== 'tokens') throw invalidOption('context', context, `leave it out: ${path} is no model of texts`)
  const model = folder.model.modelFor(wantedOf(folder, context))
  const { parameters, statistics, loaded, initialised, unused } = await folderWeights(folder, model, options)
  return {
    model,
    ...(await namedTensors(model, { parameters, statistics })),
    normalisation: folder.pixels?.normalisation ?? pixelNormalisation(model) ?? { mean: [], std: [] },
    ...(folder.classNames && { classNames: folder.classNames }),
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
  const { size, resize } = pixels ?? {}
  if (size === undefined || resize === undefined || (channels !== 1 && channels !== 3)) return {}
  // In their ratio: the images of the model may have another size than those of the preprocessor.
  return { encoding: { kind: 'image', resize: side * (resize / size) } }
}
