import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes a folder and those above it that are missing, and gives the first that it has made; undefined where all were there. Throws what the system says:
 * Node's own way never comes back from a file system that takes no folders and says that there is no such place, as /proc does.
 */
export function makeFolder(path: string): string | undefined {
  const folder = resolve(path)
  if (isFolder(folder)) return undefined
  const above = dirname(folder)
  const first = isFolder(above) ? undefined : makeFolder(above)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Somebody else may have made it meanwhile.
    if (!isFolder(folder)) throw error
    return first
  }
  return first ?? folder
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
