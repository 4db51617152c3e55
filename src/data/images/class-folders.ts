import type { Dirent } from 'node:fs'
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { ArbalestError } from '../../errors.js'
import { corruptFile, unreadableFile } from '../../formats/file-errors.js'
import { Random } from '../random.js'

/** The extensions of image files; other files are ignored. */
const EXTENSIONS: ReadonlySet<string> = new Set(['.jpg', '.jpeg', '.jpe', '.png', '.webp', '.gif', '.tif', '.tiff', '.avif'])

/** The image files of each class, in an order that depends only on their names. */
export type Classes = ReadonlyMap<string, readonly string[]>

/** Training images and test images. */
export interface ImageSplit {
  readonly classNames: readonly string[]
  readonly train: Classes
  readonly test: Classes
}

/** The names of a folder of test images, in the order in which they are looked for. */
const TEST_FOLDERS = ['test', 'val', 'validation']

/**
 * Lists the images of `path/train` and one of `path/test`, `path/val` and `path/validation`, which have a folder for each class; or of `path`
 * with a folder for each class, holding out a share of each class at random.
 * Throws DATA_NOT_FOUND, and DATA_CORRUPT if nothing can be held out or a test class has no training images.
 */
export async function splitImages(path: string, { fraction, seed }: { fraction: number; seed: number }): Promise<ImageSplit> {
  const folders = await foldersIn(path)
  // If a class is named train, there are folders with other names beside it.
  const isSplit = folders.includes('train') && folders.every((name) => name === 'train' || TEST_FOLDERS.includes(name))
  const all = await readClasses(isSplit ? join(path, 'train') : path)
  const classNames = [...all.keys()]
  const testFolder = isSplit ? TEST_FOLDERS.find((name) => folders.includes(name)) : undefined
  if (testFolder === undefined) return { classNames, ...holdOut(all, path, fraction, seed) }
  const test = await readClasses(join(path, testFolder), 1)
  const untrained = [...test.keys()].find((name) => !all.has(name))
  if (untrained !== undefined)
    throw corruptFile(join(path, testFolder, untrained), {
      expected: `a class that ${join(path, 'train')} also has`,
      found: 'one that it lacks',
      fix: 'add training images of this class, or remove the folder'
    })
  return { classNames, train: all, test }
}

/** Holds out a share of each class, but never all of its images. */
function holdOut(all: Classes, path: string, fraction: number, seed: number): Pick<ImageSplit, 'train' | 'test'> {
  const train = new Map<string, readonly string[]>()
  const test = new Map<string, readonly string[]>()
  for (const [index, [name, images]] of [...all].entries()) {
    const order = new Random(seed, index).shuffle(Int32Array.from(images, (_, i) => i))
    const count = Math.min(images.length - 1, Math.max(1, Math.round(images.length * fraction)))
    const part = (chosen: Int32Array) => Array.from(chosen.sort(), (i) => images[i]!)
    train.set(name, part(order.slice(count)))
    if (count > 0) test.set(name, part(order.slice(0, count)))
  }
  if (test.size === 0)
    throw corruptFile(path, {
      expected: 'at least one class with two images, of which one is held out',
      found: 'one image in each class',
      fix: 'add images, or put test images into a folder test beside train'
    })
  return { train, test }
}

/** The image files of a folder and its subfolders, sorted by path. Throws DATA_NOT_FOUND if it cannot be read, DATA_CORRUPT if it has no image. */
export async function imagesIn(folder: string): Promise<readonly string[]> {
  const images: string[] = []
  await addImagesBelow(folder, images)
  if (images.length === 0) throw noImages(folder, 'name a folder that has some')
  return images.sort(byName)
}

function noImages(folder: string, fix: string): ArbalestError {
  return corruptFile(folder, { expected: `images (${[...EXTENSIONS].join(' ')})`, found: 'none', fix })
}

/** The sorted names of a folder's subfolders, without hidden ones. Throws DATA_NOT_FOUND. */
async function foldersIn(path: string): Promise<string[]> {
  const names: string[] = []
  for (const entry of await entriesOf(path)) if (await isFolder(path, entry)) names.push(entry.name)
  return names.sort(byName)
}

/**
 * The images below `path`, which has a folder for each class; these have images, also in subfolders. Throws DATA_NOT_FOUND if the folder
 * cannot be read, DATA_CORRUPT if a class is empty or there are fewer classes than `atLeast`.
 */
async function readClasses(path: string, atLeast = 2): Promise<Classes> {
  const names = await foldersIn(path)
  if (names.length < atLeast)
    throw corruptFile(path, {
      expected: `a folder for each of at least ${atLeast} classes`,
      found: names.length === 0 ? 'none' : `only ${names[0]}`,
      fix: 'put the images of each class into a folder with its name'
    })
  const classes = new Map<string, readonly string[]>()
  for (const name of names) {
    const folder = join(path, name)
    const images: string[] = []
    await addImagesBelow(folder, images)
    images.sort(byName)
    if (images.length === 0) throw noImages(folder, 'add images, or remove the folder')
    classes.set(name, images)
  }
  return classes
}

/** `seen` has the folders that were read: a link to one of them would duplicate its images or cause an infinite recursion. */
async function addImagesBelow(folder: string, images: string[], seen = new Set<string>()): Promise<void> {
  const real = await realpath(folder).catch(() => folder)
  if (seen.has(real)) throw corruptFile(folder, { expected: 'each folder of a class once', found: `${real} again`, fix: 'remove the link' })
  seen.add(real)
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name)
    if (await isFolder(folder, entry)) await addImagesBelow(path, images, seen)
    else if (EXTENSIONS.has(extname(entry.name).toLowerCase())) images.push(path)
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readFolder(folder)
  for (const { name } of entries)
    // Bytes that are not UTF-8 become U+FFFD, and no file has the resulting name.
    if (name.includes('\uFFFD') && !(await lstat(join(folder, name)).catch(() => undefined)))
      throw corruptFile(folder, { expected: 'file names in UTF-8', found: JSON.stringify(name), fix: 'rename the file' })
  return entries
}

async function readFolder(folder: string): Promise<Dirent[]> {
  try {
    return (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'))
  } catch (cause) {
    throw unreadableFile(folder, cause, 'name a folder of images that exists and that you may read')
  }
}

/** Follows a symbolic link. */
async function isFolder(parent: string, entry: Dirent): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory()
  const target = await stat(join(parent, entry.name)).catch(() => undefined)
  return target?.isDirectory() === true
}

/** Compares code units, which is independent of the locale. */
function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
