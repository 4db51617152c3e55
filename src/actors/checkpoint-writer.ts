import type { PlacedParameter } from '../compiler/program.js'
import { GROUP_FILE, learnerFile, MODEL_FILE } from '../checkpoints/checkpoint.js'
import { setAside, type SetAside } from '../checkpoints/set-aside.js'
import { CheckpointStore } from '../checkpoints/store.js'
import { writeVectors } from '../checkpoints/vectors.js'
import { loadEngine, type Engine, type Handle } from '../engine/contract.js'
import { messageOf, warn } from '../errors.js'
import { writeModel } from '../formats/save.js'
import type { SavedModel } from '../formats/saved-model.js'
import { parameterTensors, type FloatTensors } from '../formats/tensor.js'
import { replaceFile, writeAll } from '../formats/write-file.js'
import { elements } from '../model/graph.js'
import type { Model } from '../model/model.js'
import type { Monitored } from '../options/until.js'
import { checkSetup } from './setup-checks.js'

/** The messages that a checkpoint writer answers. */
export interface CheckpointWriterProtocol {
  /** Called when the run begins, at an iteration or at none of the folder's checkpoints (-1): moves later checkpoints aside. Rejects with WRITE_FAILED. */
  begin(iteration: number): Promise<SetAside[]>

  /** Copies a checkpoint of another folder. A failure becomes a warning. */
  copy(checkpoint: string): Promise<void>

  /** Writes a checkpoint and releases its snapshots. Resolves with the checkpoint's folder. Rejects with WRITE_FAILED. */
  write(order: CheckpointOrder): Promise<string>
}

/** The options of a checkpoint writer. */
export interface CheckpointWriterOptions {
  /** Address of the module that exports `engine`. */
  readonly engine: string
  readonly folder: string
  /** How many of the newest checkpoints are kept, beside the best. */
  readonly keep: number
  /** The figure by which one is the best. */
  readonly monitor: Monitored | undefined
  readonly parameters: readonly PlacedParameter[]
  readonly model: Model
  readonly normalisation: SavedModel['normalisation']
  readonly classNames: readonly string[] | undefined
  readonly encoding: SavedModel['encoding'] | undefined
}

/** What a checkpoint is written from: snapshots, which do not change while training continues. */
export interface CheckpointOrder {
  readonly iteration: number
  readonly group: Handle
  /** By rank; null for a learner that has not begun. The state of a learner of another host is the content of its file. */
  readonly learners: readonly (Handle | Uint8Array | null)[]
  /** The weights that are evaluated; null while a measurement of them is under way. `statistics` belong to them. */
  readonly evaluated: Handle | null
  readonly statistics: FloatTensors
  readonly state: unknown
}

/** Writes checkpoints in a thread of its own, so that training does not wait for the disk. The run itself holds the folder's lock. */
export class CheckpointWriter implements CheckpointWriterProtocol {
  readonly #options: CheckpointWriterOptions
  #engine!: Engine
  #store!: CheckpointStore

  constructor(options: CheckpointWriterOptions) {
    checkSetup(options, 'engine', 'folder', 'keep', 'parameters', 'model', 'normalisation')
    this.#options = options
  }

  /** Called by the runtime. */
  async started(): Promise<void> {
    const { engine, folder, keep, monitor } = this.#options
    this.#engine = await loadEngine(engine)
    this.#store = await CheckpointStore.open(folder, { keep, monitor, held: true })
  }

  begin(iteration: number): Promise<SetAside[]> {
    return setAside(this.#options.folder, iteration)
  }

  async copy(checkpoint: string): Promise<void> {
    try {
      await this.#store.copy(checkpoint)
    } catch (error) {
      warn(`the best checkpoint so far, ${checkpoint}, was not copied to ${this.#options.folder} (${messageOf(error)})`)
    }
  }

  async write({ group, learners, evaluated, statistics, ...about }: CheckpointOrder): Promise<string> {
    const files: Record<string, (path: string) => Promise<void>> = {
      [GROUP_FILE]: (path) => this.#writeVectors(path, group)
    }
    if (evaluated !== null) files[MODEL_FILE] = (path) => this.#writeModel(path, evaluated, statistics)
    for (const [rank, learner] of learners.entries())
      if (learner !== null)
        files[learnerFile(rank)] = (path) => (typeof learner === 'number' ? this.#writeVectors(path, learner) : writeContent(path, learner))
    try {
      const bytes = [group, evaluated, ...learners].reduce((sum: number, each) => sum + this.#bytesOf(each), 0)
      return await this.#store.write({ ...about, files, bytes })
    } finally {
      for (const handle of [group, evaluated, ...learners]) if (typeof handle === 'number') this.#engine.release(handle)
    }
  }

  /** Called by the runtime. */
  async stopping(): Promise<void> {
    await this.#store[Symbol.asyncDispose]()
  }

  /** The approximate size of a snapshot's file. */
  #bytesOf(each: Handle | Uint8Array | null): number {
    if (typeof each !== 'number') return each?.byteLength ?? 0
    const values = this.#options.parameters.reduce((sum, { shape }) => sum + elements(shape), 0)
    return this.#engine.snapshotParts(each).vectors.length * values * Float32Array.BYTES_PER_ELEMENT
  }

  #writeVectors(path: string, snapshot: Handle): Promise<void> {
    const parts = this.#engine.snapshotParts(snapshot)
    return writeVectors(path, this.#options.parameters, { ...parts, read: (name) => this.#engine.readSnapshot(snapshot, name) })
  }

  async #writeModel(path: string, snapshot: Handle, statistics: FloatTensors): Promise<void> {
    const { parameters, model, normalisation, classNames, encoding } = this.#options
    const weights = parameterTensors(parameters, this.#engine.readSnapshot(snapshot, 'weights'))
    await writeModel(path, { model, weights, statistics, normalisation, ...(classNames && { classNames }), ...(encoding && { encoding }) })
  }
}

function writeContent(path: string, content: Uint8Array): Promise<void> {
  return replaceFile(path, { sync: true, bytes: content.byteLength }, (handle) => writeAll(handle, content))
}
