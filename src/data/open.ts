import { statSync } from 'node:fs'
import { ArbalestError, invalidOption, shown, unknownName } from '../errors.js'
import { check } from '../schema/faults.js'
import { CATALOGUE, TEXTS, type CompressibleFile } from './catalogue.js'
import { dataFolder, firstPath, foldersOf } from './data-folder.js'
import type { Dataset, StoredDataset } from './dataset.js'
import { datasetNames, datasetTraits, isTextPath } from './dataset-names.js'
import { datasetFromText } from './datasets.js'
import type { FolderOpening } from './images/image-folder.js'
import { dataName, openDataOptions, openDatasetOptions, type OpenDataOptions, type OpenDatasetOptions } from './open-options.js'
import { SOURCES, sourceOf } from './remote/sources.js'
import { isTablePath, tableExtensions } from './tables/table-file.js'
import type { TextDatasetOptions } from './text.js'
import { holdsTexts } from './file-kinds.js'

/**
 * Opens a data set by its name, as `openDataset` does, or by a path: a text (.txt), as `datasetFromText` does; a table, as `datasetFromTable` does, or as `datasetFromTexts` does if
 * `table.text` names a column of texts; a folder of texts, as `datasetFromTexts` does, or of images, as `imageFolder` does. Throws the errors of these.
 */
export async function openData(nameOrPath: string, options: OpenDataOptions = {}): Promise<Dataset> {
  check(dataName, nameOrPath, { path: 'data' })
  check(openDataOptions, options)
  return openDataAs(nameOrPath, options)
}

/** As `openData`. */
export async function openDataAs(
  nameOrPath: string,
  { images, table = {}, ...options }: OpenDataOptions,
  opening: FolderOpening = {}
): Promise<Dataset> {
  if (datasetNames.includes(nameOrPath)) return openDataset(nameOrPath, options)
  if (isTextPath(nameOrPath)) return datasetFromText({ file: nameOrPath, ...windowsOf(options) })
  const { context, tokenizer } = options
  const isTable = isTablePath(nameOrPath)
  if (isTable && table.text === undefined) {
    refuseGiven({ context, tokenizer }, `only texts have one; omit it, or name the column of texts of ${nameOrPath} (--text)`)
    const { openTable } = await import('./tables/table.js')
    return openTable({ ...table, file: nameOrPath }, 'table.')
  }
  if (!isTable && isFile(nameOrPath))
    throw invalidOption(
      'data',
      nameOrPath,
      `it is a file: name a folder of images or texts, a text (.txt) or a table (${tableExtensions.join(' ')}), unpacked`
    )
  if (!isTable && !holdsTexts(nameOrPath)) {
    refuseGiven({ context, tokenizer }, `only texts have one; omit it for ${nameOrPath}`)
    const { openImageFolder } = await import('./images/image-folder.js')
    return openImageFolder(nameOrPath, images, opening)
  }
  const { ignore, categories, quantities, ...labelled } = table
  const columns = { 'table.ignore': ignore, 'table.categories': categories, 'table.quantities': quantities }
  refuseGiven(columns, `omit it for ${nameOrPath}: texts are predicted by themselves, and by no other column`)
  const { openTexts } = await import('./texts/labelled-texts.js')
  return openTexts(
    {
      ...labelled,
      file: nameOrPath,
      ...(context !== undefined && { length: context }),
      ...(tokenizer !== undefined && { tokenizer })
    },
    'table.'
  )
}

/** Throws INVALID_OPTION for the first of these options that was given: it would change nothing. An empty list is none. */
function refuseGiven(options: Readonly<Record<string, unknown>>, fix: string): void {
  for (const [option, value] of Object.entries(options))
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) throw invalidOption(option, value, fix)
}

/** Whether something is there that is no folder: a file, or a pipe such as that of a shell's <(...). */
function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false
  } catch {
    return false
  }
}

function windowsOf({
  context,
  tokenizer,
  vocabulary
}: OpenDatasetOptions): Pick<TextDatasetOptions, 'context' | 'tokenizer' | 'vocabulary'> {
  return {
    ...(context !== undefined && { context }),
    ...(tokenizer !== undefined && { tokenizer }),
    ...(vocabulary !== undefined && { vocabulary })
  }
}

/**
 * Generates or reads a complete data set: `digits` (generated), `mnist`, `fashion-mnist`, `cifar-10`, `cifar-100`, `cifar-100-coarse` with
 * its twenty superclasses, and the text `tinyshakespeare` by characters.
 * Throws UNKNOWN_NAME, INVALID_OPTION, DATA_NOT_FOUND, DATA_CORRUPT, LABEL_OUT_OF_RANGE, OUT_OF_MEMORY.
 */
export async function openDataset(name: string, options: OpenDatasetOptions = {}): Promise<StoredDataset> {
  const { directory, seed = 0, samples, context, tokenizer, vocabulary } = check(openDatasetOptions, options)
  if (!TEXTS.has(name)) refuseGiven({ context, tokenizer, vocabulary }, `only texts have one; omit it for ${shown(name)}`)
  if (name === 'digits') {
    if (directory !== undefined) throw invalidOption('directory', directory, 'digits are generated: omit it, or name another data set')
    const { digits } = await import('./digits/digits.js')
    return digits({ seed, ...(samples !== undefined && { samples }) })
  }
  const recipe = CATALOGUE.get(name)
  const files = recipe ?? TEXTS.get(name)
  if (!files) throw unknownName('data', name, datasetNames)
  if (samples !== undefined) throw invalidOption('samples', samples, `only digits have a variable size; omit it for ${name}`)
  const paths = await locateFiles(name, searchFolder(directory), files.folders, files.files)
  if (!recipe) return datasetFromText({ file: paths[0]!, name, ...windowsOf(options) })
  return { name, ...datasetTraits(name), ...(await recipe.read(paths)) }
}

/** The folder to search, and the advice for an error. The advice names both ways to choose it, because not every caller has a flag. */
function searchFolder(directory: string | undefined): { directory: string; fix: string; getFlags: string } {
  const fix = 'name their folder with --data-dir (directory)'
  // What is fetched must come where it is looked for.
  if (directory !== undefined) return { directory, fix, getFlags: ` --data-dir ${JSON.stringify(directory)}` }
  return { directory: dataFolder(), fix: `${fix}, or in the environment variable ARBALEST_DATA`, getFlags: '' }
}

/**
 * The paths of all `files` in the first folder that contains all of them: `directory` itself, or one of its `folders`.
 * Throws DATA_NOT_FOUND with all folders and names that it tried, and the `fix`.
 */
async function locateFiles(
  dataset: string,
  { directory, fix, getFlags }: ReturnType<typeof searchFolder>,
  folders: readonly string[],
  files: readonly CompressibleFile[]
): Promise<string[]> {
  const tried = foldersOf(directory, folders)
  let closest: { folder: string; missing: readonly CompressibleFile[] } | undefined
  for (const folder of tried) {
    const found = await Promise.all(files.map((file) => firstPath(folder, file)))
    const missing = files.filter((_, i) => found[i] === undefined)
    if (missing.length === 0) return found as string[]
    if (missing.length < (closest?.missing.length ?? files.length)) closest = { folder, missing }
  }
  const missing = closest?.missing ?? files
  const where = closest ? `${closest.folder} lacks` : `none of ${tried.join(', ')} has`
  const wanted = missing.map(({ name, compressed }) => (compressed.length > 0 ? `${name}[${compressed.join('|')}]` : name)).join(', ')
  const get = SOURCES.has(sourceOf(dataset)) ? `, or fetch them: arbalest data get ${sourceOf(dataset)}${getFlags}` : ''
  const message = `${dataset}: ${where} ${wanted}; ${fix}${get}`
  throw new ArbalestError('DATA_NOT_FOUND', message, { data: { dataset, directory, folders: tried, missing } })
}
