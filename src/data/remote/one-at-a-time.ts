import { lstat, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { lockFile } from '../../engine/file-lock.js'
import { ArbalestError } from '../../errors.js'
import { unwritableFile } from '../../formats/file-errors.js'
import { makeFolder } from '../../formats/write-file.js'
import { openFile } from '../../node.js'

/** Milliseconds after which a lock that another process has is tried again. */
const POLL = 500

/** How to wait for another process. */
export interface Waiting {
  /** Called again and again while another process works. */
  readonly waiting?: () => void | Promise<void>
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Runs `work`, which writes a file, while no other process does so: two would write into the same part of it. The lock is on a file beside it, `path.lock`, and ends with its process. On file
 * systems without locks, and where the engine is not built, `work` runs at once. Throws WRITE_FAILED, ABORTED by the signal, and what `work` throws.
 */
export async function oneAtATime<T>(path: string, { waiting, signal }: Waiting, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`
  for (;;) {
    const handle = await openLock(path, lock)
    try {
      // The file may have been deleted since it was opened here, by the process that had the lock.
      if (isLocked(handle) && (await isAt(lock, handle))) return await workAndUnlock(lock, work)
    } finally {
      await handle.close()
    }
    await waiting?.()
    await sleep(POLL, undefined, { ...(signal && { signal }) }).catch((cause: unknown) => {
      throw new ArbalestError('ABORTED', `${path}: it was stopped while another process fetched it`, { cause })
    })
  }
}

async function openLock(path: string, lock: string): Promise<FileHandle> {
  try {
    makeFolder(dirname(path))
    return await openFile(lock, 'a')
  } catch (cause) {
    throw unwritableFile(path, cause)
  }
}

/** Whether this process may go on: it has the lock, or there are no locks. */
function isLocked({ fd }: FileHandle): boolean {
  try {
    return lockFile(fd) !== 'held'
  } catch (error) {
    if (error instanceof ArbalestError && error.code === 'ENGINE_MISSING') return true
    throw error
  }
}

async function isAt(path: string, handle: FileHandle): Promise<boolean> {
  const there = await lstat(path).catch(() => undefined)
  const { dev, ino } = await handle.stat()
  return there?.dev === dev && there.ino === ino
}

/** Deletes the file while it is locked: later it may be another process's. */
async function workAndUnlock<T>(lock: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    await rm(lock, { force: true }).catch(() => {})
  }
}
