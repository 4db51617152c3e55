import { createHash } from 'node:crypto'
import { invalidOption, unknownName } from '../../errors.js'
import { check } from '../../schema/faults.js'
import { group } from '../../schema/group.js'
import { CATALOGUE, TEXTS } from '../catalogue.js'
import { decompress } from '../compressed-file.js'
import { dataFolder, firstPath, foldersOf } from '../data-folder.js'
import { dataDirectory } from '../open-options.js'
import { remoteNames, SOURCES, sourceOf, type KnownFile } from './sources.js'

/** A file of a data set in a data folder. */
export interface CheckedFile {
  /** Its name, unpacked. */
  readonly name: string
  /** Where it is, plain or compressed; absent if it is nowhere. */
  readonly path?: string
  /** `right` if its content has the published SHA-256. */
  readonly state: 'right' | 'wrong' | 'missing'
  /** What a wrong file has instead: another sum, or why it cannot be read. */
  readonly found?: string
}

/** The files of a data set, compared with their sums. */
export interface CheckedData {
  readonly data: string
  /** `whole` if all files are right, `missing` if none is there. */
  readonly state: 'whole' | 'incomplete' | 'wrong' | 'missing'
  readonly files: readonly CheckedFile[]
}

/** Where `checkData` looks. */
export interface CheckDataOptions {
  /** The data folder; if omitted, the environment variable ARBALEST_DATA, otherwise `data`. */
  readonly directory?: string | undefined
}

export const checkDataOptions = group({ directory: dataDirectory })

/** As `checkData`. */
export async function compareData(names: readonly string[], options: CheckDataOptions): Promise<CheckedData[]> {
  const { directory } = check(checkDataOptions, options)
  if (!Array.isArray(names)) throw invalidOption('data', names, `give a list of names, of ${remoteNames.join(', ')}`)
  const checked: CheckedData[] = []
  for (const name of names) checked.push(await checkOne(name, dataFolder(directory)))
  return checked
}

async function checkOne(name: string, directory: string): Promise<CheckedData> {
  const source = SOURCES.get(sourceOf(name))
  if (!source) throw unknownName('data', name, remoteNames)
  const known = source.files.flatMap(({ contents }) => contents)
  const files = await checkFiles(name, known, directory)
  const states = new Set(files.map(({ state }) => state))
  const state = states.has('wrong') ? 'wrong' : !states.has('missing') ? 'whole' : states.has('right') ? 'incomplete' : 'missing'
  return { data: name, state, files }
}

/** Each of some files of a data set, in the folder that has most of all its files. */
export async function checkFiles(data: string, known: readonly KnownFile[], directory: string): Promise<CheckedFile[]> {
  const { folders, files } = (CATALOGUE.get(data) ?? TEXTS.get(data))!
  let best: (string | undefined)[] = []
  for (const folder of foldersOf(directory, folders)) {
    const paths = await Promise.all(files.map((file) => firstPath(folder, file)))
    if (count(paths) > count(best)) best = paths
  }
  const checked: CheckedFile[] = []
  for (const file of known) checked.push(await checkFile(file, best[files.findIndex(({ name }) => name === file.name)]))
  return checked
}

const count = (paths: readonly (string | undefined)[]): number => paths.filter((path) => path !== undefined).length

async function checkFile({ name, sha256 }: KnownFile, path: string | undefined): Promise<CheckedFile> {
  if (path === undefined) return { name, state: 'missing' }
  try {
    const sum = await contentSum(path)
    return sum === sha256 ? { name, path, state: 'right' } : { name, path, state: 'wrong', found: `SHA-256 ${sum}` }
  } catch (error) {
    return { name, path, state: 'wrong', found: (error as Error).message }
  }
}

/** The SHA-256 of a file's content, unpacked. */
async function contentSum(path: string): Promise<string> {
  const hash = createHash('sha256')
  const { chunks } = await decompress(path)
  for await (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}
