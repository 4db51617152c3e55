import type { Dirent, Stats } from 'node:fs'
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { ArbalestError } from '../errors.js'
import { corruptFile, unreadableFile } from '../formats/file-errors.js'
import { byName, type FileKind } from './file-kinds.js'
import { Random } from './random.js'

/** The files of each class, in an order that depends only on their names. */
export type Classes = ReadonlyMap<string, readonly string[]>

/** Training files and test files. */
export interface FileSplit {
  readonly classNames: readonly string[]
  readonly train: Classes
  readonly test: Classes
}

/** Which files are held out. */
export interface FileShare {
  /** Of the files of each class. */
  readonly fraction: number
  readonly seed: number
  /** A folder with fewer classes is refused: 2 if omitted, for there is nothing to learn of one. */
  readonly leastClasses?: number | undefined
}

/** The names of a folder of training files, and of one of test files in the order in which they are looked for. Published data sets write them in any case. */
const TRAIN_FOLDERS = ['train', 'training']
const TEST_FOLDERS = ['test', 'testing', 'val', 'valid', 'validation', 'dev', 'eval']

/**
 * Lists the files of a kind in a folder of training files and one of test files below `path`, which have a folder for each class; or of `path`
 * with a folder for each class, holding out a share of each class at random.
 * Throws DATA_NOT_FOUND, and DATA_CORRUPT if nothing can be held out or a test class has no training files.
 */
export async function filesOf(path: string, kind: FileKind, { fraction, seed, leastClasses = 2 }: FileShare): Promise<FileSplit> {
  const parts = partsAmong(await foldersIn(path, kind))
  const trainPath = parts ? join(path, parts.train) : path
  const all = await readClasses(trainPath, kind, leastClasses)
  const classNames = [...all.keys()]
  if (parts?.test === undefined) return { classNames, ...holdOut(all, path, kind, { fraction, seed }) }
  const test = await readClasses(join(path, parts.test), kind, 1)
  const untrained = [...test.keys()].find((name) => !all.has(name))
  if (untrained !== undefined)
    throw corruptFile(join(path, parts.test, untrained), {
      expected: `a class that ${trainPath} also has`,
      found: 'one that it lacks',
      fix: `add training ${kind.what} of this class, or remove the folder`
    })
  return { classNames, train: all, test }
}

/** Training files and test files of a kind below `path`, in any folders: as `filesOf`, but without classes. Throws DATA_NOT_FOUND, and DATA_CORRUPT if nothing can be held out. */
export async function splitFiles(
  path: string,
  kind: FileKind,
  share: Pick<FileShare, 'fraction' | 'seed'>
): Promise<{ readonly train: readonly string[]; readonly test: readonly string[] }> {
  const parts = partsAmong(await foldersIn(path, kind))
  const all = await filesBelow(parts ? join(path, parts.train) : path, kind)
  if (parts?.test !== undefined) return { train: all, test: await filesBelow(join(path, parts.test), kind) }
  const { train, test } = holdOut(new Map([['', all]]), path, kind, share)
  return { train: train.get('')!, test: test.get('')! }
}

/** The folder of training files and that of test files, if there is one. undefined if the folders are classes: where one of these is named train, others have other names. */
function partsAmong(folders: readonly string[]): { readonly train: string; readonly test: string | undefined } | undefined {
  const known = new Map(folders.map((name) => [name.toLowerCase(), name]))
  const [train, ...others] = TRAIN_FOLDERS.flatMap((name) => known.get(name) ?? [])
  const tests = TEST_FOLDERS.flatMap((name) => known.get(name) ?? [])
  if (train === undefined || others.length > 0 || folders.length !== 1 + tests.length) return undefined
  return { train, test: tests[0] }
}

/** Holds out a share of each class, but never all of its files. */
function holdOut(
  all: Classes,
  path: string,
  { what }: FileKind,
  { fraction, seed }: { readonly fraction: number; readonly seed: number }
): Pick<FileSplit, 'train' | 'test'> {
  const train = new Map<string, readonly string[]>()
  const test = new Map<string, readonly string[]>()
  for (const [index, [name, files]] of [...all].entries()) {
    const order = new Random(seed, index).shuffle(Int32Array.from(files, (_, i) => i))
    const count = Math.min(files.length - 1, Math.max(1, Math.round(files.length * fraction)))
    const part = (chosen: Int32Array) => Array.from(chosen.sort(), (i) => files[i]!)
    train.set(name, part(order.slice(count)))
    if (count > 0) test.set(name, part(order.slice(0, count)))
  }
  if (test.size === 0)
    throw corruptFile(path, {
      expected: all.size > 1 ? `at least one class with two ${what}, of which one is held out` : `two ${what}, of which one is held out`,
      found: all.size > 1 ? 'one in each class' : 'one',
      fix: `add ${what}, or put test ${what} into a folder test beside train`
    })
  return { train, test }
}

/** The files of a kind in a folder and its subfolders, sorted by path. Throws DATA_NOT_FOUND if it cannot be read, DATA_CORRUPT if it has none. */
export async function filesBelow(folder: string, kind: FileKind): Promise<readonly string[]> {
  const files: string[] = []
  await addFilesBelow(folder, kind, files)
  if (files.length === 0) throw noFiles(folder, kind, 'name a folder that has some')
  return files.sort(byName)
}

function noFiles(folder: string, { what, extensions }: FileKind, fix: string): ArbalestError {
  return corruptFile(folder, { expected: `${what} (${[...extensions].join(' ')})`, found: 'none', fix })
}

/** The sorted names of a folder's subfolders, without hidden ones. Throws DATA_NOT_FOUND. */
async function foldersIn(path: string, kind: FileKind): Promise<string[]> {
  const names: string[] = []
  for (const entry of await entriesOf(path, kind)) if (await isFolder(path, entry)) names.push(entry.name)
  return names.sort(byName)
}

/**
 * The files below `path`, which has a folder for each class; these have files, also in subfolders. Throws DATA_NOT_FOUND if the folder
 * cannot be read, DATA_CORRUPT if a class is empty or there are fewer classes than `atLeast`.
 */
async function readClasses(path: string, kind: FileKind, atLeast: number): Promise<Classes> {
  const names = await foldersIn(path, kind)
  if (names.length < atLeast)
    throw corruptFile(path, {
      expected: atLeast === 1 ? 'a folder for each class' : `a folder for each of at least ${atLeast} classes`,
      found: names.length === 0 ? 'none' : `only ${names[0]}`,
      fix: `put the ${kind.what} of each class into a folder with its name`
    })
  const classes = new Map<string, readonly string[]>()
  for (const name of names) {
    const folder = join(path, name)
    const files: string[] = []
    await addFilesBelow(folder, kind, files)
    files.sort(byName)
    if (files.length === 0) throw noFiles(folder, kind, `add ${kind.what}, or remove the folder`)
    classes.set(name, files)
  }
  return classes
}

/** `seen` has the folders that were read: a link to one of them would duplicate its files or cause an infinite recursion. */
async function addFilesBelow(folder: string, kind: FileKind, files: string[], seen = new Set<string>()): Promise<void> {
  const real = await realpath(folder).catch(() => folder)
  if (seen.has(real)) throw corruptFile(folder, { expected: 'each folder of a class once', found: `${real} again`, fix: 'remove the link' })
  seen.add(real)
  for (const entry of await entriesOf(folder, kind)) {
    const path = join(folder, entry.name)
    const target = await followed(folder, entry)
    if (target?.isDirectory()) await addFilesBelow(path, kind, files, seen)
    else if (kind.extensions.has(extname(entry.name).toLowerCase()) && isReadable(target)) files.push(path)
  }
}

async function entriesOf(folder: string, kind: FileKind): Promise<Dirent[]> {
  const entries = await readFolder(folder, kind)
  for (const { name } of entries)
    // Bytes that are not UTF-8 become U+FFFD, and no file has the resulting name.
    if (name.includes('\uFFFD') && !(await lstat(join(folder, name)).catch(() => undefined)))
      throw corruptFile(folder, { expected: 'file names in UTF-8', found: JSON.stringify(name), fix: 'rename the file' })
  return entries
}

async function readFolder(folder: string, { what }: FileKind): Promise<Dirent[]> {
  try {
    return (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'))
  } catch (cause) {
    throw unreadableFile(folder, cause, `name a folder of ${what} that exists and that you may read`)
  }
}

async function isFolder(parent: string, entry: Dirent): Promise<boolean> {
  const target = await followed(parent, entry)
  return target?.isDirectory() === true
}

/** An entry, or what a symbolic link leads to; undefined if it leads nowhere. */
async function followed(parent: string, entry: Dirent): Promise<Dirent | Stats | undefined> {
  return entry.isSymbolicLink() ? stat(join(parent, entry.name)).catch(() => undefined) : entry
}

/** Not a pipe, whose reader waits for a writer, nor a socket or a device. A link that leads nowhere is read, so that an error names it. */
function isReadable(target: Dirent | Stats | undefined): boolean {
  return target === undefined || target.isFile()
}
