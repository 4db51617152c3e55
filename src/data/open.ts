import { invalidOption, unknownName } from '../errors.js'
import { CATALOGUE, TEXTS } from './catalogue.js'
import type { DatasetTraits, StoredDataset } from './dataset.js'
import { digits, DIGITS } from './digits/digits.js'
import { locate } from './locate.js'
import { datasetFromText } from './text.js'

/** Those of them that are texts: shapes and classes are in their files alone. */
export const textNames: readonly string[] = [...TEXTS.keys()]

/** The data sets that `openDataset` knows. */
export const datasetNames: readonly string[] = ['digits', ...CATALOGUE.keys(), ...textNames]

/** Where the files of a data set are, and what is drawn where there are none. */
export interface OpenDatasetOptions {
  /** The folder that holds the files, or its parent; if left out, the environment's ARBALEST_DATA, else `data`. Not for `digits`. */
  readonly directory?: string | undefined
  /** Which digits are drawn; data sets read from files do not depend on it. */
  readonly seed?: number | undefined
  /** Samples to learn from, for `digits` only: 10 to 1,000,000, with a tenth as many to be measured on. */
  readonly samples?: number | undefined
  /** Characters of a window, for texts only: 128 if left out. */
  readonly context?: number | undefined
}

/**
 * What is known of a data set by its name, without a look at its files: shapes, classes, normalisation. Throws UNKNOWN_NAME,
 * also for a text, whose characters are in its file.
 */
export function datasetTraits(name: string): DatasetTraits {
  const traits = name === 'digits' ? DIGITS : CATALOGUE.get(name)
  if (!traits) throw unknownName('data', name, ['digits', ...CATALOGUE.keys()])
  const { sample, classes, classNames, mean, deviation, augmentation } = traits
  return { sample, classes, classNames, mean, deviation, augmentation }
}

/**
 * Makes or reads a data set whole: `digits` (generated), `mnist`, `fashion-mnist`, `cifar-10`, `cifar-100`, and
 * `cifar-100-coarse` with the twenty groups of its classes, and the text `tinyshakespeare` by its characters.
 * Throws UNKNOWN_NAME, INVALID_OPTION, DATA_NOT_FOUND, DATA_CORRUPT, LABEL_OUT_OF_RANGE, OUT_OF_MEMORY.
 */
export async function openDataset(name: string, options: OpenDatasetOptions = {}): Promise<StoredDataset> {
  const { directory, seed = 0, samples, context } = options
  if (directory !== undefined && (typeof directory !== 'string' || directory === '')) {
    throw invalidOption('directory', directory, 'name the folder that holds the files')
  }
  if (context !== undefined && !TEXTS.has(name)) throw invalidOption('context', context, `only texts have one; leave it out for ${name}`)
  if (name === 'digits') {
    if (directory !== undefined)
      throw invalidOption('directory', directory, 'digits are generated: leave it out, or name the data set with --data')
    return digits({ seed, ...(samples !== undefined && { samples }) })
  }
  const recipe = CATALOGUE.get(name)
  const files = recipe ?? TEXTS.get(name)
  if (!files) throw unknownName('data', name, datasetNames)
  if (samples !== undefined) throw invalidOption('samples', samples, `only digits can be scaled; leave it out for ${name}`)
  const paths = await locate(name, placeOf(directory), files.folders, files.files)
  if (!recipe) return datasetFromText({ file: paths[0]!, name, ...(context !== undefined && { context }) })
  return { name, ...datasetTraits(name), ...(await recipe.read(paths)) }
}

/** Where files are looked for, and what to do where they are not: not everything that opens a data set has a flag for it. */
function placeOf(directory: string | undefined): { directory: string; mend: string } {
  const mend = 'name the folder that holds them'
  if (directory !== undefined) return { directory, mend: `${mend} with --data-dir (directory)` }
  return {
    directory: process.env['ARBALEST_DATA'] ?? 'data',
    mend: `${mend} in the environment's ARBALEST_DATA, or with --data-dir (directory) where that is to be had`
  }
}
