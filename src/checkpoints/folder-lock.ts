import { constants } from 'node:fs'
import { copyFile, lstat, readFile, rename, rm, type FileHandle } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { lockFile } from '../engine/file-lock.js'
import { ArbalestError, messageOf, warn } from '../errors.js'
import { openFile } from '../node.js'
import { hasEnded, holderIn, isThisProcess, nameOf, thisProcess, type LockHolder } from './lock-holder.js'

/** The locked file; it names the process that holds it. */
const LOCKED = '.lock'
/** On file systems without locks: its existence is the lock. */
const EXISTING = '.lock-by-existence'
/** How often a lock that is not signed is looked at again, and after how many milliseconds. */
const [MOST_LOOKS, LOOK_EVERY] = [10, 20]
/** For its owner alone: a user who may only read the folder cannot lock the file. */
const MODE = 0o600

/**
 * A folder that one run at a time writes into. The lock is on a file in the folder itself, so that it holds for all processes that see the folder, in
 * any container. The system frees it when the process ends, however that happens: a file that is left means nothing.
 *
 * On a file system without locks the lock is a file that can be made only once. One that was left by a process that has ended is replaced; if that
 * cannot be known, as of a process on another machine, the folder is refused, and the error says which file to delete.
 */
export class FolderLock implements AsyncDisposable {
  /** Undefined once the lock has been released. */
  #path: string | undefined
  /** Keeps the lock; undefined where the file's existence does. */
  readonly #handle: FileHandle | undefined

  private constructor(path: string, handle?: FileHandle) {
    this.#path = path
    this.#handle = handle
  }

  /** `lock` is replaced in tests. Throws INVALID_STATE where another run holds the folder. */
  static async take(folder: string, lock = lockFile): Promise<FolderLock> {
    const path = join(folder, LOCKED)
    for (;;) {
      const handle = await openForOwner(folder, path)
      try {
        const locking = lock(handle.fd)
        if (locking === 'held') throw heldBy(folder, await signerOf(handle))
        // The holder before may have deleted the file after it was opened here.
        if (locking === 'taken' && (await isAt(path, handle))) {
          await sign(handle)
          return new FolderLock(path, handle)
        }
        await handle.close()
        if (locking === 'unsupported') {
          await rm(path, { force: true })
          return new FolderLock(await makeExisting(folder))
        }
      } catch (error) {
        await handle.close()
        throw error
      }
    }
  }

  /**
   * The file is deleted while it is locked: later it may be another run's, as it is now where the folder was moved and another one made. A failure is a warning only: the run
   * that ends has its model.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const path = this.#path
    this.#path = undefined
    try {
      if (path !== undefined && !isAnothers(holderIn((await textOf(path)) ?? ''))) await rm(path, { force: true })
    } catch (error) {
      warn(`could not delete ${path} (${messageOf(error)})`)
    } finally {
      await this.#handle?.close()
    }
  }
}

/** Another process that holds the folder. A run finds one in its own folder's place where that was moved and the other run has made a new one. */
export async function otherHolderOf(folder: string): Promise<LockHolder | undefined> {
  const text = (await textOf(join(folder, LOCKED))) ?? (await textOf(join(folder, EXISTING))) ?? ''
  const holder = holderIn(text)
  return isAnothers(holder) ? holder : undefined
}

function isAnothers(holder: LockHolder | undefined): boolean {
  return holder !== undefined && !isThisProcess(holder)
}

async function openForOwner(folder: string, path: string): Promise<FileHandle> {
  try {
    return await openFile(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, MODE)
  } catch (error) {
    if (codeOf(error) !== 'EACCES') throw error
    const message = `checkpoint.dir: received ${folder}; a run of another user has left ${path}: delete it if that run has ended, or name another folder`
    throw new ArbalestError('INVALID_STATE', message, { cause: error, data: { folder } })
  }
}

async function isAt(path: string, handle: FileHandle): Promise<boolean> {
  const there = await lstat(path).catch(() => undefined)
  const { dev, ino } = await handle.stat()
  return there?.dev === dev && there.ino === ino
}

/** The signature serves messages: a disk that is full must not keep the lock from being taken. */
async function sign(handle: FileHandle): Promise<void> {
  await handle.truncate().catch(() => {})
  await handle.writeFile(JSON.stringify(thisProcess())).catch(() => {})
}

/** Who holds the lock. A run that began at the same time has taken it a moment before it signs. */
async function signerOf(handle: FileHandle): Promise<LockHolder | undefined> {
  for (let looks = 0; ; looks++) {
    const holder = holderIn(await handle.readFile('utf8'))
    if (holder || looks === MOST_LOOKS) return holder
    await sleep(LOOK_EVERY)
  }
}

/** Makes the file whose existence is the lock. Returns its path. */
async function makeExisting(folder: string): Promise<string> {
  const path = join(folder, EXISTING)
  for (;;) {
    try {
      await using handle = await openFile(path, 'wx', MODE)
      await sign(handle)
      return path
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    await deleteIfEnded(folder, path)
  }
}

/** Deletes the file of a process that has ended. Throws INVALID_STATE for any other. */
async function deleteIfEnded(folder: string, path: string): Promise<void> {
  const text = await textOf(path)
  if (text === undefined) return
  const holder = holderIn(text)
  if (!hasEnded(holder)) throw heldBy(folder, holder, path)
  // Another run may be doing the same: what is deleted must be the file that was read, and not that run's own.
  const aside = `${path}.${randomBytes(6).toString('hex')}`
  await rename(path, aside).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
  const moved = await textOf(aside)
  if (moved !== undefined && moved !== text) await copyFile(aside, path, constants.COPYFILE_EXCL).catch(() => {})
  await rm(aside, { force: true })
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function heldBy(folder: string, holder: LockHolder | undefined, existing?: string): ArbalestError {
  const fix = existing === undefined ? 'stop that one' : `stop that one, delete ${existing} if it has ended`
  const message = `checkpoint.dir: received ${folder}; another run writes into it (${nameOf(holder)}): ${fix}, or name another folder`
  return new ArbalestError('INVALID_STATE', message, { data: { folder, ...(holder && { pid: holder.pid, host: holder.host }) } })
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
