import { readdir, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { unwritableFile } from '../formats/file-errors.js'
import { checkpointsIn, syncFolder } from './store.js'

/** A checkpoint that was moved out of a run's way: its folder before and now. */
export interface SetAside {
  readonly folder: string
  readonly movedTo: string
}

/**
 * Moves the checkpoints of iterations above `begin` aside, newest first: before a run begins at `begin`, or all of them (-1) before one that goes on from none of them.
 * Otherwise the next run would go on from these instead of from the newest checkpoint of this run. Throws WRITE_FAILED.
 */
export async function setAside(folder: string, begin: number): Promise<SetAside[]> {
  const moved: SetAside[] = []
  const later = (await checkpointsIn(folder)).filter(({ iteration }) => iteration > begin)
  if (later.length === 0) return moved
  const taken = new Set(await readdir(folder))
  for (const { folder: old } of later) {
    const movedTo = join(folder, freeName(basename(old), taken))
    try {
      await rename(old, movedTo)
    } catch (cause) {
      throw unwritableFile(movedTo, cause)
    }
    moved.push({ folder: old, movedTo })
  }
  await syncFolder(folder)
  return moved
}

/** `checkpoint-000000000600.aside`, with a number if that name is taken. */
function freeName(old: string, taken: ReadonlySet<string>): string {
  for (let copy = 1; ; copy++) {
    const name = `${old}.aside${copy === 1 ? '' : `-${copy}`}`
    if (!taken.has(name)) return name
  }
}
