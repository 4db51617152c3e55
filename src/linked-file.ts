import { readlink, realpath } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** Symbolic links that lead to one another; the system follows as many. */
const MOST_LINKS = 40

/** The file that a path leads to by symbolic links, of which the last may lead to none yet. Throws for a circle of links. */
export async function linkedFile(path: string): Promise<string> {
  let file = path
  for (let links = 0; links < MOST_LINKS; links++) {
    const next = await readlink(file).catch(() => undefined)
    if (next === undefined) return file
    // A link is relative to the folder that it lies in, whatever links led there.
    file = resolve(await realpath(dirname(file)), next)
  }
  throw new Error('its symbolic links lead around in a circle')
}
