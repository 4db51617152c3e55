import { randomBytes } from 'node:crypto'
import { access, constants, copyFile, mkdir, readdir, realpath, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ArbalestError, messageOf, printable, warn } from '../errors.js'
import { isDeniedByNode, isOfFullDisk, unreadableFile, unwritableFile } from '../formats/file-errors.js'
import { makeFolder } from '../formats/write-file.js'
import { openFile } from '../node.js'
import type { Monitored } from '../options/until.js'
import { Checkpoint } from './checkpoint.js'
import { FolderLock, otherHolderOf } from './folder-lock.js'
import { nameOf } from './lock-holder.js'
import { MANIFEST, readManifest, writeManifest } from './manifest.js'
import { isWorthMore, worthInManifest, type Worth } from './model-worth.js'
import { isPlanned, type RunState } from './run-state.js'

export interface CheckpointContents {
  readonly iteration: number
  /** By name, the function that writes the file to a path. */
  readonly files: Readonly<Record<string, (path: string) => Promise<void>>>
  /** Of all files, roughly, for the message where the disk is full. */
  readonly bytes?: number
  readonly state: unknown
}

export interface StoreOptions {
  /** How many of the newest checkpoints are kept. */
  readonly keep?: number
  /** Whether the caller holds the folder already, by `holdFolder`. */
  readonly held?: boolean
  /** The figure by which the best one is kept; if omitted, accuracy where there is one, else loss. */
  readonly monitor?: Monitored | undefined
}

/** A checkpoint in a folder, which may be damaged. */
export interface FoundCheckpoint {
  readonly iteration: number
  readonly folder: string
}

/** `.new` is about to replace a checkpoint of the same iteration. It counts as a checkpoint, so that there is one at every moment. */
const NAME = /^checkpoint-(\d{12})(?:\.new)?$/
const UNFINISHED = /^\.checkpoint-\d{12}(?:\.new)?\.[0-9a-f]{12}$/

/** The checkpoints in a folder up to an iteration, newest first, damaged ones included. A missing folder has none. */
export async function checkpointsIn(folder: string, upTo = Infinity): Promise<FoundCheckpoint[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    // A run that wants to write into the folder gets an error for these later.
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw unreadableFile(folder, error)
  })
  return names
    .flatMap((name) => {
      const digits = NAME.exec(name)?.[1]
      return digits === undefined || Number(digits) > upTo ? [] : [{ iteration: Number(digits), folder: join(folder, name) }]
    })
    .sort((a, b) => b.iteration - a.iteration || b.folder.length - a.folder.length)
}

/** Whether this is one of the checkpoints in a folder, where no run has moved it aside. */
export async function isCheckpointIn(folder: string, checkpoint: string): Promise<boolean> {
  const path = await realpath(checkpoint)
  return NAME.test(basename(path)) && dirname(path) === (await realpath(folder))
}

/**
 * The newest whole checkpoint of a folder for which `check` does not throw; undefined if there is none. Calls `refused` for each newer one. Throws DATA_NOT_FOUND for one
 * that cannot be read: it may be whole, and a run that went on from an earlier one would train anew what it has.
 */
export async function newestWhole(
  folder: string,
  refused: (folder: string, error: ArbalestError) => void,
  check: (checkpoint: Checkpoint) => void = () => {}
): Promise<Checkpoint | undefined> {
  for (const found of await checkpointsIn(folder)) {
    try {
      const checkpoint = await Checkpoint.open(found.folder)
      check(checkpoint)
      return checkpoint
    } catch (error) {
      if (!(error instanceof ArbalestError) || error.code === 'DATA_NOT_FOUND') throw error
      refused(found.folder, error)
    }
  }
  return undefined
}

/** Which checkpoint is the best. */
export interface BestOptions {
  /** The figure that counts. */
  readonly monitor: Monitored | undefined
  /** The last iteration that is looked at; any if omitted. */
  readonly upTo?: number
  /** Whether the measurement of a checkpoint counts; all do if omitted. */
  readonly counts?: (state: RunState) => boolean
}

/** The checkpoint of the best model that was measured: of equals the first, as in the run itself. undefined if none was measured. Ignores damaged manifests. */
export async function bestOf(folder: string, { monitor, upTo, counts }: BestOptions): Promise<FoundCheckpoint | undefined> {
  let best: (FoundCheckpoint & { readonly worth: Worth }) | undefined
  for (const found of (await checkpointsIn(folder, upTo)).reverse()) {
    const manifest = await readManifest(found.folder).catch(() => undefined)
    const worth = manifest && worthInManifest(manifest, monitor, counts)
    if (worth && (!best || isWorthMore(worth, best.worth) || found.iteration === best.iteration)) best = { ...found, worth }
  }
  return best
}

/**
 * Makes the folder of checkpoints if it is missing, and locks it against other runs until it is disposed of. Disposal deletes a folder that was made here
 * and is still empty. Throws WRITE_FAILED, and INVALID_STATE if another run holds the folder.
 */
export async function holdFolder(folder: string): Promise<AsyncDisposable> {
  let made: string | undefined
  let lock: FolderLock
  try {
    made = makeFolder(folder)
    await access(folder, constants.W_OK | constants.X_OK)
    lock = await FolderLock.take(folder)
  } catch (cause) {
    throw cause instanceof ArbalestError ? cause : noFolder(folder, cause)
  }
  return {
    async [Symbol.asyncDispose]() {
      await lock[Symbol.asyncDispose]()
      // Fails, as it should, if the folder is not empty.
      if (made !== undefined) await rmdir(folder).catch(() => {})
    }
  }
}

function noFolder(folder: string, cause: unknown): ArbalestError {
  if (isOfFullDisk(cause) || isDeniedByNode(cause)) return unwritableFile(folder, cause)
  const message = printable(
    `checkpoint.dir: received ${folder}; no checkpoints can be written there (${messageOf(cause)}); name a folder that may be written, or one that does not exist yet`
  )
  return new ArbalestError('WRITE_FAILED', message, { cause, data: { parameter: 'checkpoint.dir', file: folder } })
}

/**
 * A folder of checkpoints, written by one run at a time. A checkpoint appears under its name only when all its bytes are on the disk. Then the newest ones
 * and the best one are kept, and older ones are deleted.
 */
export class CheckpointStore implements AsyncDisposable {
  readonly folder: string
  readonly #keep: number
  readonly #monitor: Monitored | undefined
  /** undefined if the caller holds the folder. */
  readonly #lock: AsyncDisposable | undefined

  private constructor(folder: string, { keep = 3, monitor }: StoreOptions, lock: AsyncDisposable | undefined) {
    this.folder = folder
    this.#keep = keep
    this.#monitor = monitor
    this.#lock = lock
  }

  /** Makes the folder if it is missing, and deletes unfinished checkpoints of killed runs. Throws WRITE_FAILED, INVALID_STATE. */
  static async open(folder: string, options: StoreOptions = {}): Promise<CheckpointStore> {
    const store = new CheckpointStore(folder, options, options.held ? undefined : await holdFolder(folder))
    await store.#clear()
    return store
  }

  /**
   * Writes a checkpoint and returns its folder. A failure leaves no part of it, and the others untouched. Throws WRITE_FAILED; emits a warning if older
   * checkpoints cannot be deleted.
   */
  async write({ iteration, files, bytes, ...about }: CheckpointContents): Promise<string> {
    const final = this.#pathOf(iteration)
    const unfinished = this.#temporary(final)
    try {
      await this.#refuseOther(final)
      await mkdir(unfinished)
      for (const [name, write] of Object.entries(files)) await write(join(unfinished, name))
      await writeManifest(unfinished, Object.keys(files), { iteration, ...about })
      await this.#putInPlace(unfinished, final)
      await syncFolder(this.folder)
    } catch (cause) {
      await rm(unfinished, { recursive: true, force: true }).catch(() => {})
      if (isOfFullDisk(cause)) throw await this.#noRoom(final, cause, bytes)
      throw cause instanceof ArbalestError ? cause : unwritableFile(final, cause)
    }
    await clearing(`old checkpoints in ${this.folder}`, () => this.#prune(iteration))
    return final
  }

  /** Copies a checkpoint of another folder. A failure leaves no part of it. Throws WRITE_FAILED, and DATA_CORRUPT if it is damaged. */
  async copy(checkpoint: string): Promise<void> {
    const { iteration, files } = await readManifest(checkpoint)
    const final = this.#pathOf(iteration)
    const unfinished = this.#temporary(final)
    try {
      await mkdir(unfinished)
      for (const name of [...files.map((file) => file.name), MANIFEST]) await copySynced(join(checkpoint, name), join(unfinished, name))
      await syncFolder(unfinished)
      await this.#putInPlace(unfinished, final)
      await syncFolder(this.folder)
    } catch (cause) {
      await rm(unfinished, { recursive: true, force: true }).catch(() => {})
      throw unwritableFile(final, cause)
    }
  }

  /** Throws WRITE_FAILED where another run holds the folder: it would find checkpoints of this one among its own. */
  async #refuseOther(final: string): Promise<void> {
    const other = await otherHolderOf(this.folder)
    if (!other) return
    const message = `${printable(final)}: it is not written; the folder of this run was moved, and another run has made a new one in its place (${nameOf(other)}): start this one again with checkpoint.dir where its folder is now`
    throw new ArbalestError('WRITE_FAILED', message, { data: { file: final, pid: other.pid, host: other.host } })
  }

  #pathOf(iteration: number): string {
    return join(this.folder, `checkpoint-${String(iteration).padStart(12, '0')}`)
  }

  /** WRITE_FAILED, with what the checkpoint needs and the one before it, which is whole. */
  async #noRoom(final: string, error: unknown, needed: number | undefined): Promise<ArbalestError> {
    const [newest] = await checkpointsIn(this.folder).catch(() => [])
    const left = newest ? `the checkpoint before it, ${newest.folder}, is whole` : 'there is no checkpoint before it'
    const cause = error instanceof ArbalestError ? error.cause : error
    return unwritableFile(final, cause, { needed, left })
  }

  /** Replaces a checkpoint of the same iteration, damaged or whole. If the process is killed here, the old one or the new one is there. */
  async #putInPlace(unfinished: string, final: string): Promise<void> {
    const coming = `${final}.new`
    try {
      await rename(unfinished, final)
      await this.#remove(coming)
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
      await this.#remove(coming)
      await rename(unfinished, coming)
      await this.#remove(final)
      await rename(coming, final)
    }
  }

  /** Deletes a checkpoint, if it exists. Renames it first, so that a half-deleted checkpoint does not look like a damaged one. */
  async #remove(folder: string): Promise<void> {
    const old = this.#temporary(folder)
    try {
      await rename(folder, old)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
      throw error
    }
    await this.#delete(old)
  }

  async #delete(old: string): Promise<void> {
    await clearing(old, () => rm(old, { recursive: true, force: true }))
  }

  /** A path beside `final` for a folder that is unfinished or being deleted. The next run deletes folders of such names. */
  #temporary(final: string): string {
    return join(this.folder, `.${basename(final)}.${randomBytes(6).toString('hex')}`)
  }

  async #clear(): Promise<void> {
    await clearing(`unfinished checkpoints in ${this.folder}`, async () => {
      for (const name of await readdir(this.folder)) if (UNFINISHED.test(name)) await this.#delete(join(this.folder, name))
    })
  }

  /** Ignores checkpoints of later iterations than `written`: they are not of this run, and would displace the one just written. */
  async #prune(written: number): Promise<void> {
    const best = await bestOf(this.folder, { monitor: this.#monitor, upTo: written, counts: isPlanned })
    for (const { folder } of (await checkpointsIn(this.folder, written)).slice(this.#keep)) {
      if (folder !== best?.folder) await this.#remove(folder)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lock?.[Symbol.asyncDispose]()
  }
}

/** A failure to delete is a warning only: the new checkpoint is whole. */
async function clearing(what: string, clear: () => Promise<void>): Promise<void> {
  try {
    await clear()
  } catch (error) {
    warn(`could not delete ${what} (${messageOf(error)})`)
  }
}

async function copySynced(from: string, to: string): Promise<void> {
  await copyFile(from, to)
  // The copy has the permissions of the original, which may be kept from being written.
  await using handle = await openFile(to)
  await handle.sync()
}

/** Writes the folder's entries to the disk. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await openFile(folder)
  await handle.sync()
}
