import { readdirSync, statSync, type Dirent } from 'node:fs'
import { extname, join } from 'node:path'

/** The files that are samples; others are ignored. */
export interface FileKind {
  /** In the plural, for messages. */
  readonly what: string
  /** In lower case, each with its dot. */
  readonly extensions: ReadonlySet<string>
}

/** The files of a folder of images. */
export const IMAGES: FileKind = {
  what: 'images',
  extensions: new Set(['.jpg', '.jpeg', '.jpe', '.png', '.webp', '.gif', '.tif', '.tiff', '.avif'])
}

/** The files of a folder of texts. */
export const TEXT_FILES: FileKind = { what: 'texts', extensions: new Set(['.txt']) }

/** Levels of folders, and folders of all levels, in which `kindIn` looks: a folder of anything else may have any number. */
const [LEVELS, FOLDERS] = [5, 256]

/**
 * Finds the first folder with files of one of these kinds, and returns that kind. Subfolders come before the files beside them, which often only describe them. If a folder has several
 * kinds, the first in `kinds` counts. undefined if there are none, or the folder cannot be read. Follows links.
 */
function kindIn(folder: string, kinds: readonly FileKind[]): FileKind | undefined {
  let looked = 0
  const look = (path: string, levels: number): FileKind | undefined => {
    if (levels === 0 || ++looked > FOLDERS) return undefined
    const entries = entriesNow(path)
    for (const { name, isFolder: goesOn } of entries) {
      const found = goesOn ? look(join(path, name), levels - 1) : undefined
      if (found) return found
    }
    const has = ({ extensions }: FileKind) => entries.some((each) => !each.isFolder && extensions.has(extname(each.name).toLowerCase()))
    return kinds.find(has)
  }
  return look(folder, LEVELS)
}

/** Whether a path is that of a folder of texts: one of images may have texts beside them, such as captions. */
export function holdsTexts(path: string): boolean {
  return kindIn(path, [IMAGES, TEXT_FILES]) === TEXT_FILES
}

function entriesNow(folder: string): readonly { readonly name: string; readonly isFolder: boolean }[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.'))
    return entries.sort((a, b) => byName(a.name, b.name)).map((entry) => ({ name: entry.name, isFolder: isFolderNow(folder, entry) }))
  } catch {
    return []
  }
}

function isFolderNow(parent: string, entry: Dirent): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory()
  try {
    return statSync(join(parent, entry.name)).isDirectory()
  } catch {
    return false
  }
}

/** Compares code units, which is independent of the locale. */
export function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
