import * as v from 'valibot'
import { printable } from '../errors.js'
import { didYouMeanFile } from '../similar-files.js'
import type { Dataset } from '../data/dataset.js'
import { datasetNames, isTextPath, readsText } from '../data/dataset-names.js'
import { imageOptions } from '../data/images/image-options.js'
import { isTablePath, tableExtensions } from '../data/tables/table-file.js'
import { holdsTexts } from '../data/file-kinds.js'
import { tableOptions } from '../data/tables/table-options.js'
import { foundAt } from '../formats/file-errors.js'
import type { Faults } from '../schema/faults.js'
import { option } from '../schema/group.js'
import { MOST_MIXING } from '../model/augmentation.js'
import { either, kind, oneOf, real, text, whole, type Schema } from '../schema/values.js'
import { datasetFault, isDataset } from './dataset-fault.js'

const datasetOrPath: Schema<Dataset | string> = either(
  [
    v.pipe(
      kind<Dataset>(
        isDataset,
        'a Dataset, as openDataset or datasetFromArrays makes it, the name of one, a folder of images or texts, a text or a table'
      ),
      v.rawCheck(({ dataset, addIssue }) => {
        const message = dataset.typed ? datasetFault(dataset.value) : undefined
        if (message !== undefined) addIssue({ message })
      })
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
   * `tinyshakespeare`; or the path of a folder of images or texts, with a folder in it for each class, of a text (.txt) or of a table (.csv, .tsv, .jsonl, .parquet).
   */
  data: option(datasetOrPath, {
    text: `${datasetNames.join(', ')}, or the path of a folder of images or texts, a text or a table`,
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
  /** Characters of a window, or tokens, if `data` names a text; 128 if omitted. Of texts with labels, bytes or tokens that the model sees; 256 if omitted. */
  context: option(whole({ min: 1, max: 2 ** 20 }), {
    text: 'characters or tokens of a text that a model sees at once; of texts with labels, bytes or tokens',
    flag: '--context <characters>',
    otherwise: '128; 256 for texts with labels'
  }),
  /** The folder of a tokenizer (tokenizer.json, or vocab.json and merges.txt), or a tokenizer.json, if `data` names a text or texts with labels: its tokens instead of characters or bytes. */
  tokenizer: option(text('the folder of a tokenizer, or a tokenizer.json'), {
    text: 'tokens of texts instead of characters or bytes: the folder of a tokenizer, or a tokenizer.json',
    flag: '--tokenizer <path>',
    otherwise: 'that of initial, else characters or bytes'
  }),
  /** How the images of a folder become samples. */
  images: option(imageOptions, { default: {} }),
  /** The side in pixels of a square around a random pixel of each training image that becomes the mean colour, instead of the data's own `augmentation.cutout`; 16 is usual for CIFAR-10. */
  cutout: option(whole({ unit: 'pixels' }), {
    text: 'side of a square that is cut out of each training image at random',
    flag: '--cutout <pixels>',
    otherwise: "0, or the data's own"
  }),
  /** Blends images of a batch in pairs, each with a share drawn from Beta(mixup, mixup), and their targets with them, instead of the data's own `augmentation.mixup`; 0.2 is usual. */
  mixup: option(real({ min: 0, max: MOST_MIXING }), {
    text: 'blend images of a batch in pairs, by shares drawn from Beta(mixup, mixup)',
    flag: '--mixup <number>',
    otherwise: "0, or the data's own"
  }),
  /** Lays a rectangle of each image of a pair over the other, and mixes their targets by its area, instead of the data's own `augmentation.cutmix`; 1 is usual. Beside `mixup` each pair takes one of the two. */
  cutmix: option(real({ min: 0, max: MOST_MIXING }), {
    text: 'lay rectangles of images of a batch over one another, of areas drawn from Beta(cutmix, cutmix)',
    flag: '--cutmix <number>',
    otherwise: "0, or the data's own"
  }),
  /** How a table, or texts with labels, become samples. */
  table: option(tableOptions, { default: {} })
}

interface DataChoice {
  readonly data: Dataset | string
  readonly dataDir?: string | undefined
  readonly tokenizer?: string | undefined
  readonly images: unknown
  readonly table: unknown
}

/** Refuses options for the files of a data set that is of another kind; `images` and `table` are the options as they were given. */
export function checkData(faults: Faults, { data, dataDir, tokenizer, images, table }: DataChoice): void {
  const isText = typeof data === 'string' && (readsText(data) || readsLabelledTexts(data, table))
  if (tokenizer !== undefined && !isText) faults.refuse('tokenizer', tokenizer, 'leave it out: only a text has one')
  const path = typeof data === 'string' && isPath(data) ? data : undefined
  const given = typeof data === 'string' ? data : 'a Dataset'
  if (dataDir !== undefined && data === 'digits')
    faults.refuse('dataDir', dataDir, 'leave it out, or name another data set: digits are generated')
  else if (dataDir !== undefined && (path !== undefined || typeof data !== 'string'))
    faults.refuse('dataDir', dataDir, `leave it out: it is for data sets by name, and data is ${path === undefined ? given : 'a path'}`)
  const isTable = path !== undefined && isTablePath(path)
  const hasTexts = path !== undefined && !isTable && holdsTexts(path)
  if (path === undefined || isTable || hasTexts || isTextPath(path)) refuseAll(faults, 'images', images, `${given} is no folder of images`)
  if (!isTable && !hasTexts) refuseAll(faults, 'table', table, `${given} is neither a table nor a folder of texts`)
  if (isTable && (table as { readonly target?: unknown } | undefined)?.target === undefined)
    faults.refuse('table.target', undefined, 'name the column that is predicted (--target)')
}

/** Whether a path is that of a folder of texts, or of a table one of whose columns has texts. */
function readsLabelledTexts(path: string, table: unknown): boolean {
  if (!isPath(path)) return false
  return isTablePath(path) ? (table as { readonly text?: unknown } | undefined)?.text !== undefined : holdsTexts(path)
}

function refuseAll(faults: Faults, group: string, options: unknown, reason: string): void {
  if (typeof options !== 'object' || options === null) return
  for (const [name, value] of Object.entries(options))
    if (value !== undefined) faults.refuse(`${group}.${name}`, value, `leave it out: ${reason}`)
}

/** Whether a text can only be a path, because no data set has a separator or an extension in its name; or is that of a folder or a file that is there. */
function isPath(data: string): boolean {
  return !datasetNames.includes(data) && (isTextPath(data) || isTablePath(data) || /[\\/]/.test(data) || foundAt(data) !== undefined)
}

function pathFault(path: string): string | undefined {
  const file = foundAt(path)
  if (file?.isDirectory()) return undefined
  if (file === undefined) return `there is no such file or folder: check the path${didYouMeanFile(path, printable)}`
  if (!isTextPath(path) && !isTablePath(path))
    return `it is a file: name a folder of images or texts, a text (.txt) or a table (${tableExtensions.join(' ')}), unpacked`
  return file.isFile() ? undefined : 'it is not a regular file: name a text or a table'
}
