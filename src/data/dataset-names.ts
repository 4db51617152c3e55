import { extname } from 'node:path'
import { unknownName } from '../errors.js'
import { CATALOGUE, TEXTS } from './catalogue.js'
import type { DatasetTraits } from './dataset.js'
import { DIGITS } from './digits/traits.js'

/** The data sets that are texts, whose shapes and classes are known only from their files. */
export const textNames: readonly string[] = [...TEXTS.keys()]

/** The data sets that `openDataset` knows. */
export const datasetNames: readonly string[] = ['digits', ...CATALOGUE.keys(), ...textNames]

/** Whether a name or a path is that of a text whose next characters or tokens are learnt. */
export function readsText(nameOrPath: string): boolean {
  return TEXTS.has(nameOrPath) || isTextPath(nameOrPath)
}

/** Whether `openData` reads a path as a text. */
export function isTextPath(path: string): boolean {
  return typeof path === 'string' && extname(path).toLowerCase() === '.txt'
}

/**
 * The shapes, classes and normalisation of a published data set, without reading its files. Throws UNKNOWN_NAME, also for a text, whose
 * characters are known only from its file.
 */
export function datasetTraits(name: string): DatasetTraits {
  const traits = name === 'digits' ? DIGITS : CATALOGUE.get(name)
  if (!traits) throw unknownName('data', name, ['digits', ...CATALOGUE.keys()])
  const { sample, classes, classNames, mean, std, augmentation } = traits
  return { sample, classes, classNames, mean, std, augmentation }
}
