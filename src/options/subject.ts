import { statSync } from 'node:fs'
import type { Dataset } from '../data/dataset.js'
import { imageFolderPlan, type ImageFolderOptions } from '../data/images/image-options.js'
import { datasetNames, isTextPath } from '../data/open.js'
import { unknownName } from '../errors.js'
import type { Model } from '../model/model.js'
import { imageSizeOf, zoo, type GptOptions } from '../model/zoo/index.js'
import type { TrainOptions } from './train-options.js'
import { modelSize } from './model-size.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

/** What is trained, and on what. */
export interface SubjectSettings {
  readonly model: Model | string
  /** Of a model of the zoo; undefined: the usual one. */
  readonly size: GptOptions | undefined
  readonly data: Dataset | string
  readonly dataDir: string | undefined
  readonly context: number | undefined
  readonly images: ImageFolderOptions
}

const DEFAULT_DATA = 'digits'

const IMAGES: OptionNames<ImageFolderOptions> = {
  name: true,
  size: true,
  channels: true,
  mean: true,
  std: true,
  crop: true,
  flip: true,
  colour: true,
  resize: true,
  testFraction: true,
  seed: true,
  check: true,
  onBadImage: true,
  threads: true,
  prefetch: true,
  cache: true
}

export function subjectSettings(
  checks: OptionChecks,
  {
    model,
    size,
    data = DEFAULT_DATA,
    dataDir,
    context,
    images
  }: Pick<Partial<TrainOptions>, 'model' | 'size' | 'data' | 'dataDir' | 'context' | 'images'>
): SubjectSettings {
  named(checks, 'model', model, Object.keys(zoo), 'give a Model, or the name of one in the zoo')
  if (typeof data === 'object' && !isDataset(data))
    checks.refuse('data', data, 'give a Dataset, as openDataset or datasetFromArrays makes it')
  else if (typeof data === 'string' && !datasetNames.includes(data) && isPath(data)) checkPath(checks, data)
  else if (typeof data !== 'string' || !isFolder(data))
    named(checks, 'data', data, datasetNames, 'give a Dataset, the name of one, a folder of images, or a text file')
  if (dataDir !== undefined && typeof dataDir !== 'string') checks.refuse('dataDir', dataDir, 'give the path of a folder')
  if (context !== undefined) checks.whole('context', context, 1, 2 ** 20)
  return {
    model: model as Model | string,
    size: modelSize(checks, size, model),
    data,
    dataDir,
    context,
    images: imageOptions(checks, images, model)
  }
}

/** By what training cannot begin without; whoever makes one has checked the rest. */
function isDataset(data: Partial<Dataset> | null): boolean {
  const isCounted = (samples: { readonly count?: unknown } | undefined | null) => typeof samples?.count === 'number'
  return (
    typeof data?.name === 'string' &&
    Array.isArray(data.sample) &&
    typeof data.classes === 'number' &&
    isCounted(data.train) &&
    isCounted(data.test)
  )
}

/** Whether a name can only be a path: no data set has a separator or an extension in its name. */
function isPath(data: string): boolean {
  return isTextPath(data) || /[\\/]/.test(data)
}

function checkPath(checks: OptionChecks, path: string): void {
  if (isFolder(path)) return
  const found = path.includes('\0') ? undefined : statSync(path, { throwIfNoEntry: false })
  if (found === undefined) checks.refuse('data', path, 'there is no such file or folder: check the path')
  else if (!isTextPath(path)) checks.refuse('data', path, 'it is a file: name a folder of images, or a text file that ends in .txt')
  else if (!found.isFile()) checks.refuse('data', path, 'it is not a regular file: name a text file')
}

function isFolder(path: string): boolean {
  // No folder has a null byte in its name, and Node.js does not look for one.
  return !path.includes('\0') && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Images have the size that suits the model, where none is given. */
function imageOptions(
  checks: OptionChecks,
  given: ImageFolderOptions | undefined,
  model: TrainOptions['model'] | undefined
): ImageFolderOptions {
  const { size = imageSizeOf(model), ...others } = checks.group('images', given, IMAGES)
  const images = { ...(size !== undefined && { size }), ...others }
  checks.attempt(() => imageFolderPlan(images, 'images.'))
  return images
}

/** The thing itself, or a name of the list. */
function named(checks: OptionChecks, path: string, value: unknown, known: readonly string[], mend: string): void {
  if (typeof value === 'string') {
    checks.attempt(() => {
      if (!known.includes(value)) throw unknownName(path, value, known)
    })
  } else if (typeof value !== 'object' || value === null) checks.refuse(path, value, mend)
}
