import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ArbalestError } from '../errors.js'

/** A file of a data set: its plain name, which is tried first, and what that ends with where the file is packed. */
export interface PackedFile {
  readonly name: string
  readonly packed: readonly string[]
}

/**
 * The paths of all `files` in the first folder that holds them all: `directory` itself, or one of its `folders`.
 * Throws DATA_NOT_FOUND with every folder and every name that was tried, and the `mend`.
 */
export async function locate(
  dataset: string,
  { directory, mend }: { readonly directory: string; readonly mend: string },
  folders: readonly string[],
  files: readonly PackedFile[]
): Promise<string[]> {
  const tried = [directory, ...folders.map((folder) => join(directory, folder))].map((folder) => resolve(folder))
  let closest: { folder: string; missing: readonly PackedFile[] } | undefined
  for (const folder of tried) {
    const found = await Promise.all(files.map((file) => firstPath(folder, file)))
    const missing = files.filter((_, i) => found[i] === undefined)
    if (missing.length === 0) return found as string[]
    if (missing.length < (closest?.missing.length ?? files.length)) closest = { folder, missing }
  }
  const missing = closest?.missing ?? files
  const where = closest ? `${closest.folder} lacks` : `none of ${tried.join(', ')} holds`
  const wanted = missing.map(({ name, packed }) => (packed.length > 0 ? `${name}[${packed.join('|')}]` : name)).join(', ')
  const message = `${dataset}: ${where} ${wanted}; ${mend}`
  throw new ArbalestError('DATA_NOT_FOUND', message, { data: { dataset, directory, folders: tried, missing } })
}

async function firstPath(folder: string, file: PackedFile): Promise<string | undefined> {
  for (const ending of ['', ...file.packed]) {
    const path = join(folder, file.name + ending)
    const found = await stat(path).catch(() => undefined)
    if (found?.isFile()) return path
  }
  return undefined
}
