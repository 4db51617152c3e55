import { rmSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ArbalestError, messageOf } from '../../errors.js'
import { hasEnded, holderIn, thisProcess } from '../../checkpoints/lock-holder.js'

const PREFIX = 'arbalest-host-'
/** Names the process that uses the folder. */
const HOLDER = 'holder'

/** A folder for files that this process alone reads. A process that is killed leaves its own behind: whoever makes the next one removes it. */
export class HostFolder implements Disposable {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  /** `within` is replaced in tests. Throws WRITE_FAILED. */
  static async make(within = tmpdir()): Promise<HostFolder> {
    await removeLeftIn(within)
    try {
      const folder = new HostFolder(await mkdtemp(join(within, PREFIX)))
      try {
        await writeFile(join(folder.path, HOLDER), JSON.stringify(thisProcess()))
        return folder
      } catch (error) {
        folder[Symbol.dispose]()
        throw error
      }
    } catch (cause) {
      const message = `${within}: no folder for temporary files can be made there (${messageOf(cause)}); free space there, or name another folder by TMPDIR`
      throw new ArbalestError('WRITE_FAILED', message, { cause, data: { folder: within } })
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** Folders of processes that are known to have ended. What cannot be read or removed, such as another user's, stays. */
async function removeLeftIn(within: string): Promise<void> {
  const names = await readdir(within).catch((): string[] => [])
  const removed = names
    .filter((name) => name.startsWith(PREFIX))
    .map(async (name) => {
      const holder = holderIn(await readFile(join(within, name, HOLDER), 'utf8'))
      if (hasEnded(holder)) await rm(join(within, name), { recursive: true, force: true })
    })
  await Promise.allSettled(removed)
}
