import { randomBytes } from 'node:crypto'
import { access, constants, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ArbalestError, messageOf } from '../errors.js'
import { unreadableFile, unwritableFile } from '../formats/file-errors.js'
import { makeFolder } from '../formats/write-file.js'
import { Checkpoint } from './checkpoint.js'
import { FolderLock } from './folder-lock.js'
import { readManifest, writeManifest } from './manifest.js'

export interface CheckpointContents {
  readonly iteration: number
  /** Higher is better; absent where the central model was not measured at this iteration. */
  readonly score?: number
  /** By name, how each is written to its path. */
  readonly files: Readonly<Record<string, (path: string) => Promise<void>>>
  readonly state: unknown
}

export interface StoreOptions {
  /** How many of the newest stay. */
  readonly keep?: number
  /** Whoever opens it holds the folder already, by `holdFolder`. */
  readonly held?: boolean
}

/** Newest first. */
export interface Found {
  readonly iteration: number
  readonly folder: string
}

/** `.new` on its way to the place of one of the same iteration: it counts as well, so that there is one at every moment. */
const NAME = /^checkpoint-(\d{12})(?:\.new)?$/
const UNFINISHED = /^\.checkpoint-\d{12}(?:\.new)?\.[0-9a-f]{12}$/

/** The checkpoints in a folder up to an iteration, newest first, whole or not. A folder that is not there has none. */
export async function checkpointsIn(folder: string, upTo = Infinity): Promise<Found[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    // Who wants to write there is told what is wrong with it.
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

/** The newest whole checkpoint of a folder, or undefined; `refused` hears of each newer one that is damaged, or that `check` throws at. */
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
      if (!(error instanceof ArbalestError)) throw error
      refused(found.folder, error)
    }
  }
  return undefined
}

/** The checkpoint with the highest score up to an iteration, the newer of equals; undefined where none was measured. Damaged ones do not count. */
export async function bestOf(folder: string, upTo = Infinity): Promise<Found | undefined> {
  let best: (Found & { readonly score: number }) | undefined
  for (const found of await checkpointsIn(folder, upTo)) {
    const { score } = await readManifest(found.folder).catch(() => ({ score: undefined }))
    if (score !== undefined && (!best || score > best.score)) best = { ...found, score }
  }
  return best
}

/**
 * Makes the folder of checkpoints where it is missing, and keeps other runs from writing there until it is let go; one that was made in vain is gone
 * then. Throws WRITE_FAILED, INVALID_STATE.
 */
export async function holdFolder(folder: string): Promise<AsyncDisposable> {
  let made: string | undefined
  let lock: FolderLock
  try {
    made = makeFolder(folder)
    await access(folder, constants.W_OK | constants.X_OK)
    lock = await FolderLock.take(folder)
  } catch (cause) {
    throw cause instanceof ArbalestError ? cause : unwritableFile(folder, cause)
  }
  return {
    async [Symbol.asyncDispose]() {
      await lock[Symbol.asyncDispose]()
      // Only where nothing is in it.
      if (made !== undefined) await rmdir(folder).catch(() => {})
    }
  }
}

/**
 * A folder of checkpoints, written by one run at a time. Each appears under its name only when every byte of it is on the disk; of those up to
 * the one just written the newest and the best stay, older ones go.
 */
export class CheckpointStore implements AsyncDisposable {
  readonly folder: string
  readonly #keep: number
  /** Where the folder is held by nobody else. */
  readonly #lock: AsyncDisposable | undefined

  private constructor(folder: string, keep: number, lock: AsyncDisposable | undefined) {
    this.folder = folder
    this.#keep = keep
    this.#lock = lock
  }

  /** Makes the folder where it is missing and clears away what a killed run left unfinished. Throws WRITE_FAILED, INVALID_STATE. */
  static async open(folder: string, { keep = 3, held = false }: StoreOptions = {}): Promise<CheckpointStore> {
    const store = new CheckpointStore(folder, keep, held ? undefined : await holdFolder(folder))
    await store.#clear()
    return store
  }

  /**
   * Returns the checkpoint's folder. Whatever fails, no part of it stays and the others are untouched. Throws WRITE_FAILED; older ones that cannot
   * be cleared away are a warning.
   */
  async write({ iteration, files, ...about }: CheckpointContents): Promise<string> {
    const final = join(this.folder, `checkpoint-${String(iteration).padStart(12, '0')}`)
    const unfinished = this.#besides(final)
    try {
      await mkdir(unfinished)
      for (const [name, write] of Object.entries(files)) await write(join(unfinished, name))
      await writeManifest(unfinished, { iteration, ...about })
      await this.#putInPlace(unfinished, final)
      await syncFolder(this.folder)
    } catch (cause) {
      await rm(unfinished, { recursive: true, force: true }).catch(() => {})
      throw cause instanceof ArbalestError ? cause : unwritableFile(final, cause)
    }
    await cleared(`old checkpoints in ${this.folder}`, () => this.#prune(iteration))
    return final
  }

  /** One of the same iteration makes way, damaged or whole. Whenever this is cut off, the old one or the new one stands there. */
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

  /** Renamed first: one that is half removed must not look like one that is damaged. It need not be there. */
  async #remove(folder: string): Promise<void> {
    const old = this.#besides(folder)
    try {
      await rename(folder, old)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
      throw error
    }
    await this.#delete(old)
  }

  async #delete(old: string): Promise<void> {
    await cleared(old, () => rm(old, { recursive: true, force: true }))
  }

  /** Where what is not finished, or not wanted any more, lies: beside its place, under a name that the next run clears away. */
  #besides(final: string): string {
    return join(this.folder, `.${basename(final)}.${randomBytes(6).toString('hex')}`)
  }

  async #clear(): Promise<void> {
    await cleared(`what is unfinished in ${this.folder}`, async () => {
      for (const name of await readdir(this.folder)) if (UNFINISHED.test(name)) await this.#delete(join(this.folder, name))
    })
  }

  /** A checkpoint beyond `written` is not of this run's past: counted, it would crowd out what was just written. */
  async #prune(written: number): Promise<void> {
    const best = await bestOf(this.folder, written)
    for (const { folder } of (await checkpointsIn(this.folder, written)).slice(this.#keep)) {
      if (folder !== best?.folder) await this.#remove(folder)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lock?.[Symbol.asyncDispose]()
  }
}

/** What is in the way of nobody costs no checkpoint where it cannot be cleared away: that is a warning. */
async function cleared(what: string, clear: () => Promise<void>): Promise<void> {
  try {
    await clear()
  } catch (error) {
    process.emitWarning(`not cleared away: ${what} (${messageOf(error)})`, 'ArbalestWarning')
  }
}

/** The names in it are on the disk when the promise resolves. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder)
  await handle.sync()
}
