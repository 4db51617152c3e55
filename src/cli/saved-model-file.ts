import { mkdtemp, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, extname, join } from 'node:path'
import { freeSpace } from '../engine/free-space.js'
import { ArbalestError, messageOf } from '../errors.js'
import { checkSavePath, type Job, type Model, type StartedEvent } from '../index.js'
import { absolutePath } from '../node.js'
import { bytes } from './text.js'

/** What a model's file has beside its parameters: statistics, names, the description of its layers. */
const BESIDE = { share: 0.02, bytes: 2 ** 14 }

/** The file of `train --save`: refused before training if it cannot be written; if it cannot be written later, the model is written elsewhere. */
export class SavedModelFile {
  readonly path: string
  /** Where the run keeps its checkpoints, if it does. */
  readonly #checkpoints: string | undefined

  private constructor(path: string, checkpoints: string | undefined) {
    this.path = path
    this.#checkpoints = checkpoints
  }

  /** Throws what `checkSavePath` throws. */
  static async at(
    path: string,
    { model, checkpoints }: { model: Model | string | undefined; checkpoints: string | undefined }
  ): Promise<SavedModelFile> {
    await checkSavePath(path, model)
    return new SavedModelFile(path, checkpoints)
  }

  /** Throws WRITE_FAILED if there is too little space for the model of this run. Where the space is not known, nothing is checked. */
  checkSpace({ parameters }: Pick<StartedEvent, 'parameters'>): void {
    const needed = Math.ceil(4 * parameters * (1 + BESIDE.share)) + BESIDE.bytes
    const free = freeSpace(dirname(absolutePath(this.path)))
    if (free === undefined || free >= needed) return
    const message = `--save: received ${this.path}; the model needs about ${bytes(needed)}, and ${bytes(free)} are free there: free space, or name a file elsewhere`
    throw new ArbalestError('WRITE_FAILED', message, { data: { file: this.path, needed, free } })
  }

  /**
   * Writes the job's model. If the file cannot be written, the model is written to a new folder beside the checkpoints or, failing that, beside
   * temporary files. Throws WRITE_FAILED then, which says where the model is.
   */
  async write(job: Job): Promise<void> {
    try {
      await job.model.save(this.path)
    } catch (cause) {
      const folders = [this.#checkpoints, tmpdir()].filter((folder) => folder !== undefined)
      const saved = await firstSaved(job, this.#nameAfter(cause), folders)
      const outcome = saved === undefined ? `neither can the model be written to ${folders.join(' or ')}` : `the model is in ${saved}`
      throw new ArbalestError('WRITE_FAILED', `${messageOf(cause)}; ${outcome}`, {
        cause,
        data: { file: this.path, ...(saved && { saved }) }
      })
    }
  }

  /** A format that refuses the model must not be what it is lost by. */
  #nameAfter(cause: unknown): string {
    const name = basename(this.path)
    const isOfDisk = cause instanceof ArbalestError && cause.code === 'WRITE_FAILED'
    return isOfDisk && !this.path.endsWith('/') ? name : `${basename(name, extname(name))}.safetensors`
  }
}

/** The path in the first of these folders that takes the model, in a new folder of its own: no file there is replaced. */
async function firstSaved(job: Job, name: string, folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    let made: string | undefined
    try {
      made = await mkdtemp(join(absolutePath(folder), 'saved-model-'))
      const path = join(made, name)
      await job.model.save(path)
      return path
    } catch {
      if (made !== undefined) await rmdir(made).catch(() => {})
    }
  }
  return undefined
}
