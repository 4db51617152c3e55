import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { ArbalestError, messageOf } from '../../errors.js'
import { corrupt } from '../faults.js'

/** Endings of the files that are taken for images; others are passed over. */
const ENDINGS: ReadonlySet<string> = new Set(['.jpg', '.jpeg', '.jpe', '.png', '.webp', '.gif', '.tif', '.tiff', '.avif'])

/** Image files by class, in an order that depends on their names alone. */
export type Classes = ReadonlyMap<string, readonly string[]>

/** A folder's own folders, by name; hidden ones are passed over. Throws DATA_NOT_FOUND. */
export async function foldersIn(path: string): Promise<string[]> {
  const names: string[] = []
  for (const entry of await entriesOf(path)) if (await isFolder(path, entry)) names.push(entry.name)
  return names.sort(byName)
}

/**
 * The images below `path`, a folder for each class, each with images and folders of them. Throws DATA_NOT_FOUND where there is no such
 * folder, DATA_CORRUPT where a class is empty or there are fewer than `least`.
 */
export async function readClasses(path: string, least = 2): Promise<Classes> {
  const names = await foldersIn(path)
  if (names.length < least)
    throw corrupt(path, `a folder for each of ${least} classes or more`, names.length === 0 ? 'none' : `only ${names[0]}`, {
      mend: 'put the images of each class into a folder of its name'
    })
  const classes = new Map<string, readonly string[]>()
  for (const name of names) {
    const folder = join(path, name)
    const images: string[] = []
    await addImagesBelow(folder, images)
    images.sort(byName)
    if (images.length === 0)
      throw corrupt(folder, `images (${[...ENDINGS].join(' ')})`, 'none', { mend: 'put some there, or remove the folder' })
    classes.set(name, images)
  }
  return classes
}

/** `seen`: the folders that have been looked into. A link back to one of them would double its images, or never end. */
async function addImagesBelow(folder: string, images: string[], seen = new Set<string>()): Promise<void> {
  const real = await realpath(folder).catch(() => folder)
  if (seen.has(real)) throw corrupt(folder, 'each folder of a class once', `${real} again`, { mend: 'remove the link' })
  seen.add(real)
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name)
    if (await isFolder(folder, entry)) await addImagesBelow(path, images, seen)
    else if (ENDINGS.has(extname(entry.name).toLowerCase())) images.push(path)
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'))
  } catch (cause) {
    throw new ArbalestError('DATA_NOT_FOUND', `${folder}: cannot be read as a folder of images (${messageOf(cause)}); check the path`, {
      cause,
      data: { folder }
    })
  }
}

/** Links count as what they lead to. */
async function isFolder(parent: string, entry: Dirent): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory()
  const target = await stat(join(parent, entry.name)).catch(() => undefined)
  return target?.isDirectory() === true
}

/** By code points: the same on every machine and in every language. */
function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
