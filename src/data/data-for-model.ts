import { invalidOption } from '../errors.js'
import { isEncoding, type SampleEncoding } from '../formats/encoding.js'
import { check } from '../schema/faults.js'
import { group, option } from '../schema/group.js'
import { kind } from '../schema/values.js'
import type { Dataset } from './dataset.js'
import { readsText } from './dataset-names.js'
import { datasetByEncoding } from './datasets.js'
import { imageOptions, type ImageFolderOptions } from './images/image-options.js'
import { openData, openDataAs } from './open.js'
import { dataDirectory, dataName } from './open-options.js'
import type { ReadTableOptions } from './tables/row-block.js'
import { readTableOptions } from './tables/table-options.js'
import { isTablePath } from './tables/table-file.js'
import { holdsTexts } from './file-kinds.js'

/** What a trained model takes, and how its training data became that. */
export interface ModelInput {
  readonly name: string
  /** One sample's shape. */
  readonly input: readonly number[]
  readonly classNames?: readonly string[] | undefined
  readonly encoding?: SampleEncoding | undefined
}

/** How `openDataForModel` finds a data set. */
export interface DataForModelOptions extends ReadTableOptions {
  /** The folder of the files, or its parent. */
  readonly directory?: string | undefined
  /** How a folder of images is read; if omitted, in the model's size and channels, and with the crop of its training data. */
  readonly images?: ImageFolderOptions | undefined
}

const dataForModelOptions = group({ ...readTableOptions.entries, directory: dataDirectory, images: option(imageOptions) })

const modelInput = kind<ModelInput>(
  isModelInput,
  'a trained model, as loadModel reads one, or an object with the name, the input, the classNames and the encoding of one'
)

function isModelInput(given: unknown): boolean {
  const { name, input, classNames, encoding } = Object(given) as Partial<Record<keyof ModelInput, unknown>>
  const hasNames = classNames === undefined || Array.isArray(classNames)
  return typeof name === 'string' && Array.isArray(input) && hasNames && (encoding === undefined || isEncoding(encoding))
}

/**
 * Opens a data set by its name or path to measure a trained model on it. The data set is encoded as the model's training data was. A table is read by the same columns, and all of its
 * rows are test samples. A folder of texts has the same length and tokens. A text is cut into windows of the model's context. Images have the model's size, channels and crop. A class
 * has the number that the model has for its name.
 *
 * Throws what `openData` and `datasetByEncoding` throw. Throws INVALID_OPTION for a table or a text that does not suit the model, and for a class that the model does not have.
 */
export async function openDataForModel(nameOrPath: string, model: ModelInput, options: DataForModelOptions = {}): Promise<Dataset> {
  check(dataName, nameOrPath, { path: 'data' })
  check(modelInput, model, { path: 'model' })
  check(dataForModelOptions, options)
  const { inClassesOf } = await import('./classes-of-model.js')
  return inClassesOf(model, await encodedForModel(nameOrPath, model, options), nameOrPath)
}

async function encodedForModel(
  nameOrPath: string,
  { name: model, input, classNames, encoding }: ModelInput,
  { directory, images = imagesLike(input, encoding), delimiter }: DataForModelOptions
): Promise<Dataset> {
  if (isTablePath(nameOrPath)) {
    if (!encoding || !('target' in encoding)) throw unsuitable(nameOrPath, `model ${model} was not trained on a table or on texts`)
    return datasetByEncoding(nameOrPath, encoding, classNames, { delimiter })
  }
  if ((encoding?.kind === 'bytes' || encoding?.kind === 'tokens') && holdsTexts(nameOrPath)) {
    const { length, tokenizer } = encoding
    const { openTexts } = await import('./texts/labelled-texts.js')
    return openTexts({ file: nameOrPath, length, ...(tokenizer && { tokenizer }) }, '', LEAST_CLASSES)
  }
  // A model of images cannot take a text; its measurement refuses it by its shape.
  if (!readsText(nameOrPath) || input.length !== 1) return openDataAs(nameOrPath, { directory, images }, { leastClasses: LEAST_CLASSES })
  if (encoding?.kind === 'language') {
    const { tokenizer, vocabulary } = encoding
    return openData(nameOrPath, { directory, context: input[0], tokenizer, vocabulary })
  }
  const data = await openData(nameOrPath, { directory, context: input[0] })
  // Tokens are indices of a vocabulary: with another vocabulary they would stand for other characters.
  if (classNames && classNames.join() !== data.classNames?.join())
    throw unsuitable(nameOrPath, `its characters differ from those of model ${model}; use the text that it was trained on`)
  return data
}

/** Of a folder, which may lack others of the model's classes. */
const LEAST_CLASSES = 1

const unsuitable = (data: string, fix: string) => invalidOption('data', data, fix)

/** Options for a folder of images: the crop is the one that `readImage` makes for the model. */
function imagesLike([channels, size]: readonly number[], encoding: SampleEncoding | undefined): ImageFolderOptions {
  const { resize = size, stretch = false } = encoding?.kind === 'image' ? encoding : {}
  return { channels: channels === 1 ? 1 : 3, stretch, ...(size !== undefined && { size, resize }) }
}
