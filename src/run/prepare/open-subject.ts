import type { Dataset } from '../../data/dataset.js'
import { balancedPositiveWeights, balancedWeights } from '../../data/balanced-weights.js'
import { readsText } from '../../data/dataset-names.js'
import { openDataAs } from '../../data/open.js'
import type { OpenDatasetOptions } from '../../data/open-options.js'
import type { Engine } from '../../engine/contract.js'
import { invalidOption } from '../../errors.js'
import type { Wanted } from '../../formats/huggingface/architecture.js'
import { readFolder, type HuggingFaceFolder } from '../../formats/huggingface/folder.js'
import { checkFolderWeights } from '../../formats/huggingface/read-folder-model.js'
import { loadOperators } from '../../model/composed.js'
import type { Model } from '../../model/model.js'
import { LOSS_OF } from '../../model/operators/losses.js'
import { modelNamed } from '../../model/zoo/index.js'
import type { Settings } from '../../options/settings.js'
import { augmented } from './augmented.js'
import { firstBatches } from './overfit.js'
import { checkCost } from '../explain/run-cost.js'

/** What a run trains, and on what. */
export interface RunSubject {
  readonly model: Model
  readonly dataset: Dataset
}

/** The context of texts for a model of a folder, unless another is asked for. */
const USUAL_CONTEXT = 128

/** Opens the data, and finds or builds the model that suits it. Throws what these throw, what `checkCost` throws, and ABORTED once it is stopped. */
export async function openSubject(given: Settings, engine: Engine, stop?: AbortSignal): Promise<RunSubject> {
  const initial = given.initial === undefined ? undefined : readFolder(given.initial)
  if (initial) await checkFolderWeights(initial, initial.model.modelFor({}))
  const dataset = await openDataset(given, initial, stop)
  checkCost(given, dataset, engine)
  return { dataset, model: await openModel(given, dataset, initial) }
}

async function openDataset(
  { data, dataDir: directory, context, tokenizer, images, cutout, mixup, cutmix, table, overfit, batch }: Settings,
  folder: HuggingFaceFolder | undefined,
  stop: AbortSignal | undefined
): Promise<Dataset> {
  const tokens = folder ? tokensOf(folder, { context, tokenizer }) : { context, tokenizer }
  const opened =
    typeof data === 'string'
      ? await openDataAs(data, { directory, images, table, ...(readsText(data) ? tokens : { context, tokenizer }) }, { stop })
      : data
  const dataset = augmented(opened, { cutout, mixup, cutmix, batch })
  return overfit === undefined ? dataset : firstBatches(dataset, { batches: overfit, batch })
}

/** A model of a folder reads texts as it did before, in windows that a machine without a GPU can bear if nothing else is asked for. */
function tokensOf(
  { architecture, model, tokenizer, path }: HuggingFaceFolder,
  given: Pick<OpenDatasetOptions, 'context' | 'tokenizer'>
): Pick<OpenDatasetOptions, 'context' | 'tokenizer' | 'vocabulary'> {
  if (architecture.samples !== 'tokens') return given
  const files = given.tokenizer ?? tokenizer
  if (files === undefined)
    throw invalidOption(
      'initial',
      path,
      'this folder has no tokenizer (tokenizer.json, or vocab.json and merges.txt): give one with tokenizer (--tokenizer)'
    )
  const context = given.context ?? Math.min(USUAL_CONTEXT, model.modelFor({}).input[0]!)
  return { context, tokenizer: files, vocabulary: model.classes }
}

async function openModel(settings: Settings, dataset: Dataset, folder: HuggingFaceFolder | undefined): Promise<Model> {
  const { model: given, size, labelSmoothing, classWeights, positiveWeights } = settings
  const {
    sample: input,
    classes,
    encoding,
    train: { target }
  } = dataset
  const model = folder
    ? folder.model.modelFor({ input, ...outputsFor(folder, { classes, target }) })
    : typeof given === 'string'
      ? modelNamed(
          given,
          { input, classes, ...(encoding?.kind === 'tokens' && { tokens: encoding.tokens! }), ...(target && { target }) },
          size
        )
      : given
  await loadOperators(model)
  checkLossOptions(model, settings)
  return {
    ...model,
    ...(labelSmoothing !== undefined && { labelSmoothing }),
    ...(classWeights !== undefined && { classWeights: classWeights === 'balanced' ? balancedWeights(dataset) : classWeights }),
    ...(positiveWeights !== undefined && {
      positiveWeights: positiveWeights === 'balanced' ? balancedPositiveWeights(dataset) : positiveWeights
    })
  }
}

/** Throws INVALID_OPTION for an option of another loss than the model has. */
function checkLossOptions({ name, loss }: Model, settings: Settings): void {
  for (const option of ['labelSmoothing', 'classWeights', 'positiveWeights'] as const) {
    const value = settings[option]
    if (value !== undefined && value !== 0 && loss !== LOSS_OF[option])
      throw invalidOption(option, value, `leave it out: it is for ${LOSS_OF[option]}, and model ${name} has ${loss}`)
  }
}

/** Data with classes trains a classifier, whatever the folder's head was before; data whose targets are numbers trains a head that gives numbers. Throws INVALID_OPTION. */
function outputsFor(
  { path, model: { loss } }: HuggingFaceFolder,
  { classes, target }: { readonly classes: number; readonly target: readonly number[] | undefined }
): Wanted {
  if (classes > 0) return { classes, loss: 'softmaxCrossEntropy' }
  if (loss !== 'softmaxCrossEntropy') return { classes: target?.[0] }
  throw invalidOption('initial', path, 'the targets of the data are numbers: its model is a classifier')
}
