import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { CompressibleFile } from './catalogue.js'

/** The folder of all data sets: if none is named, the environment variable ARBALEST_DATA, otherwise `data`. */
export function dataFolder(directory: string = process.env['ARBALEST_DATA'] ?? 'data'): string {
  return directory
}

/** Where the files of a data set may lie: in the data folder itself, or in one of its `folders`. */
export function foldersOf(directory: string, folders: readonly string[]): string[] {
  return [directory, ...folders.map((folder) => join(directory, folder))].map((folder) => resolve(folder))
}

/** The path of a file in a folder, plain or compressed. */
export async function firstPath(folder: string, { name, compressed }: CompressibleFile): Promise<string | undefined> {
  for (const ending of ['', ...compressed]) {
    const path = join(folder, name + ending)
    const found = await stat(path).catch(() => undefined)
    if (found?.isFile()) return path
  }
  return undefined
}
