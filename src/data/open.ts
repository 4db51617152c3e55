import { invalidOption, unknownName } from '../errors.js'
import { CATALOGUE } from './catalogue.js'
import type { Dataset } from './dataset.js'
import { digits } from './digits/digits.js'
import { locate } from './locate.js'

/** The data sets that `openDataset` knows. */
export const datasetNames: readonly string[] = ['digits', ...CATALOGUE.keys()]

export interface OpenDatasetOptions {
  /** The folder that holds the files, or its parent; if left out, the environment's ARBALEST_DATA, else `data`. Not for `digits`. */
  readonly directory?: string | undefined
  /** Which digits are drawn; data sets read from files do not depend on it. */
  readonly seed?: number | undefined
  /** Samples to learn from, for `digits` only: 10 to 1,000,000, with a tenth as many to be measured on. */
  readonly samples?: number | undefined
}

/**
 * Makes or reads a data set whole: `digits` (generated), `mnist`, `fashion-mnist`, `cifar-10`.
 * Throws UNKNOWN_NAME, INVALID_OPTION, DATA_NOT_FOUND, DATA_CORRUPT, LABEL_OUT_OF_RANGE, OUT_OF_MEMORY.
 */
export async function openDataset(name: string, options: OpenDatasetOptions = {}): Promise<Dataset> {
  const { directory, seed = 0, samples } = options
  if (directory !== undefined && (typeof directory !== 'string' || directory === '')) {
    throw invalidOption('directory', directory, 'name the folder that holds the files')
  }
  if (name === 'digits') {
    if (directory !== undefined)
      throw invalidOption('directory', directory, 'digits are generated: leave it out, or name the data set with --data')
    return digits({ seed, ...(samples !== undefined && { samples }) })
  }
  const recipe = CATALOGUE.get(name)
  if (!recipe) throw unknownName('data', name, datasetNames)
  if (samples !== undefined) throw invalidOption('samples', samples, `only digits can be scaled; leave it out for ${name}`)
  const paths = await locate(name, directory ?? process.env['ARBALEST_DATA'] ?? 'data', recipe.folders, recipe.files)
  const { sample, classes, mean, deviation, augmentation } = recipe
  return { name, sample, classes, mean, deviation, augmentation, ...(await recipe.read(paths)) }
}
