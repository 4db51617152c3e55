import type { TokenizerFiles } from '../formats/tokenizer/tokenizer-files.js'
import { group, option } from '../schema/group.js'
import { kind, text, whole } from '../schema/values.js'
import { digitsOptions } from './digits/traits.js'
import { imageOptions, type ImageFolderOptions } from './images/image-options.js'
import { tableOptions, type TableOptions } from './tables/table-options.js'

/** How `openDataset` finds or generates a data set. */
export interface OpenDatasetOptions {
  /** The folder of the files, or its parent; if omitted, the environment variable ARBALEST_DATA, otherwise `data`. Not for `digits`. */
  readonly directory?: string | undefined
  /** Seeds the generated `digits`; has no effect on data sets that are read from files. */
  readonly seed?: number | undefined
  /** The number of training samples, for `digits` only: 10 to 1,000,000; there are a tenth as many test samples. */
  readonly samples?: number | undefined
  /** Characters of a window, or tokens, for texts only; 128 if omitted. */
  readonly context?: number | undefined
  /** The folder of a tokenizer, a tokenizer.json, or what it has, for texts only: its tokens instead of characters. */
  readonly tokenizer?: string | TokenizerFiles | undefined
  /** Tokens that the model has; as many as the tokenizer if omitted. */
  readonly vocabulary?: number | undefined
}

/** How `openData` finds a data set, and how it reads images. */
export interface OpenDataOptions extends OpenDatasetOptions {
  /** How a folder of images is read. */
  readonly images?: ImageFolderOptions | undefined
  /** How a table, or texts with labels, become samples. */
  readonly table?: TableOptions | undefined
}

/** Where a tokenizer is, or what its files have. */
export const tokenizerPath = kind<string | TokenizerFiles>(
  (value) => (typeof value === 'string' && value !== '') || typeof (value as Partial<TokenizerFiles> | null)?.json === 'string',
  'the folder of a tokenizer, or a tokenizer.json'
)

/** The folder of the files of data sets, as an option. */
export const dataDirectory = option(text('the path of a folder'))

export const openDatasetOptions = group({
  directory: dataDirectory,
  ...digitsOptions.entries,
  context: option(whole({ min: 1, max: 2 ** 20 })),
  tokenizer: option(tokenizerPath),
  vocabulary: option(whole({ min: 2, max: 2 ** 21, unit: 'tokens' }))
})

export const openDataOptions = group({ ...openDatasetOptions.entries, images: option(imageOptions), table: option(tableOptions) })

/** The name of a data set or its path, as a caller gives it. */
export const dataName = text('the name of a data set, or a path')
