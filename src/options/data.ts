import { statSync, type Stats } from 'node:fs'
import * as v from 'valibot'
import type { Dataset } from '../data/dataset.js'
import { imageOptions } from '../data/images/image-options.js'
import { datasetNames, isTextPath } from '../data/open.js'
import type { Faults } from '../schema/faults.js'
import { option } from '../schema/group.js'
import { either, kind, oneOf, text, whole, type Schema } from '../schema/values.js'

const datasetOrPath: Schema<Dataset | string> = either(
  [
    kind<Dataset>(
      isDataset,
      'a Dataset, as openDataset or datasetFromArrays makes it, the name of one, a folder of images, or a text file'
    ),
    oneOf<string>(datasetNames),
    v.pipe(
      kind<string>(() => true, ''),
      v.rawCheck(({ dataset, addIssue }) => {
        const message = pathFault(dataset.value as string)
        if (message !== undefined) addIssue({ message })
      })
    )
  ],
  (value) => (typeof value !== 'string' ? 0 : isPath(value) ? 2 : 1)
)

export const dataOptions = {
  /**
   * A Dataset, or the name of one: `digits` (generated, and the default), `mnist`, `fashion-mnist`, `cifar-10`, `cifar-100`, `cifar-100-coarse`,
   * `tinyshakespeare`; or a folder of images, with a folder in it for each class.
   */
  data: option(datasetOrPath, {
    text: `${datasetNames.join(', ')}, or the path of a folder of images or a text`,
    flag: '--data <name>',
    takes: 'a Dataset, the name of one, or a path',
    common: true,
    default: 'digits'
  }),
  /** The folder that holds the files of a named data set, or its parent; if omitted, the environment variable ARBALEST_DATA, else `data`. */
  dataDir: option(text('the path of a folder'), {
    text: "folder of the data set's files",
    flag: '--data-dir <folder>',
    otherwise: 'ARBALEST_DATA of the environment, else data'
  }),
  /** Characters of a window, if `data` names a text; 128 if omitted. */
  context: option(whole({ min: 1, max: 2 ** 20 }), {
    text: 'characters of a text that a model sees at once',
    flag: '--context <characters>',
    otherwise: '128'
  }),
  /** How the images of a folder become samples. */
  images: option(imageOptions, { default: {} })
}

/** Refuses options for the files of a data set that is of another kind; `images` are the options as they were given. */
export function checkData(
  faults: Faults,
  { data, dataDir, images }: { readonly data: Dataset | string; readonly dataDir?: string | undefined; readonly images: unknown }
): void {
  const kinds = typeof data !== 'string' ? 'a Dataset' : isPath(data) ? undefined : data
  if (dataDir !== undefined && data === 'digits')
    faults.refuse('dataDir', dataDir, 'leave it out, or name another data set: digits are generated')
  if (kinds === undefined || typeof images !== 'object' || images === null) return
  for (const [name, value] of Object.entries(images))
    if (value !== undefined) faults.refuse(`images.${name}`, value, `leave it out: ${kinds} is no folder of images`)
}

/** Checks the properties that training cannot begin without; the functions that make a Dataset have checked the rest. */
export function isDataset(value: unknown): boolean {
  const { name, sample, classes, train, test } = Object(value) as Partial<Dataset>
  const isCounted = (samples: { readonly count?: unknown } | undefined | null) => typeof samples?.count === 'number'
  return typeof name === 'string' && Array.isArray(sample) && typeof classes === 'number' && isCounted(train) && isCounted(test)
}

/** Whether a text can only be a path, because no data set has a separator or an extension in its name; or is that of a folder. */
function isPath(data: string): boolean {
  return !datasetNames.includes(data) && (isTextPath(data) || /[\\/]/.test(data) || found(data)?.isDirectory() === true)
}

function pathFault(path: string): string | undefined {
  const file = found(path)
  if (file?.isDirectory()) return undefined
  if (file === undefined) return 'there is no such file or folder: check the path'
  if (!isTextPath(path)) return 'it is a file: name a folder of images, or a text file that ends in .txt'
  return file.isFile() ? undefined : 'it is not a regular file: name a text file'
}

function found(path: string): Stats | undefined {
  // It throws for a path that cannot exist: with a null byte, or below a file.
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
