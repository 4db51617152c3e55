import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { unknownName } from '../../errors.js'
import { corruptFile } from '../../formats/file-errors.js'
import { check } from '../../schema/faults.js'
import { group, option } from '../../schema/group.js'
import { abortSignal, callable, kind, real } from '../../schema/values.js'
import { dataFolder } from '../data-folder.js'
import { checkDataOptions, checkFiles, type CheckDataOptions } from './check-data.js'
import { download, lengthOf, partOf, type DownloadOptions } from './download.js'
import { oneAtATime } from './one-at-a-time.js'
import { isArchive, remoteNames, SOURCES, sourceOf, type RemoteFile } from './sources.js'
import { untar } from './untar.js'

/** From where, to where and how `getData` fetches. */
export interface GetDataOptions extends CheckDataOptions, DownloadOptions {
  /** The address of a folder that has the files, which is tried before the usual mirrors. */
  readonly mirror?: string | undefined
}

const address = kind<string>(
  (value) => typeof value === 'string' && /^https?:\/\/\S+$/.test(value),
  'the address of a folder, such as https://example.org/mnist'
)
/** Timers take no more. */
const milliseconds = option(real({ min: 0, max: 2 ** 31 - 1, unit: 'milliseconds' }))

const getDataOptions = group({
  ...checkDataOptions.entries,
  mirror: option(address),
  onProgress: option(callable<NonNullable<DownloadOptions['onProgress']>>()),
  signal: option(abortSignal()),
  stall: milliseconds,
  pause: milliseconds
})

/** What was done for a file of a data set. */
export interface GotFile {
  readonly name: string
  readonly path: string
  /** `there`: it had been fetched before, and its sum is right. */
  readonly was: 'there' | 'fetched'
}

/** As `getData`. */
export async function fetchData(name: string, given: GetDataOptions = {}): Promise<GotFile[]> {
  const { directory, mirror, ...options } = check(getDataOptions, given)
  const source = SOURCES.get(sourceOf(name))
  if (!source) throw unknownName('data', name, remoteNames)
  const { onProgress } = options
  const root = dataFolder(directory)
  const got: GotFile[] = []
  for (const file of source.files) {
    const mirrors = mirror === undefined ? file.mirrors : [mirror.replace(/\/+$/, ''), ...file.mirrors]
    const folder = join(root, source.folder)
    const path = join(folder, file.name)
    // What another process has fetched in the meantime is there.
    const fetch = async () => (await there(name, file, root)) ?? (await fetched({ ...file, mirrors }, folder, options))
    const waiting = async () => onProgress?.({ file: file.name, bytes: await lengthOf(partOf(path)), of: file.bytes })
    got.push(...((await there(name, file, root)) ?? (await oneAtATime(path, { waiting, signal: options.signal }, fetch))))
  }
  return got
}

/** The files if all of them are there; undefined if one is missing. Throws DATA_CORRUPT. */
async function there(data: string, { contents }: RemoteFile, root: string): Promise<GotFile[] | undefined> {
  const checked = await checkFiles(data, contents, root)
  const wrong = checked.find(({ state }) => state === 'wrong')
  if (wrong)
    throw corruptFile(wrong.path!, {
      expected: 'the published file',
      found: wrong.found!,
      fix: 'move it away, and fetch the data set again'
    })
  if (checked.some(({ state }) => state === 'missing')) return undefined
  return checked.map(({ name, path }) => ({ name, path: path!, was: 'there' }))
}

async function fetched(file: RemoteFile, folder: string, options: DownloadOptions): Promise<GotFile[]> {
  const path = join(folder, file.name)
  await download(file, path, options)
  if (!isArchive(file)) return [{ name: file.contents[0]!.name, path, was: 'fetched' }]
  await untar(path, file.contents, folder)
  await rm(path, { force: true })
  return file.contents.map(({ name }) => ({ name, path: join(folder, name), was: 'fetched' }))
}
