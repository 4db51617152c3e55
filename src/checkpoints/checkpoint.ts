import { join } from 'node:path'
import { SafetensorsFile } from '../formats/safetensors.js'
import { readManifest, verify, type Manifest } from './manifest.js'

/** The group: its central model, and the vectors that its rule keeps from round to round. */
export const GROUP_FILE = 'group.safetensors'
/** The model that is evaluated, with its statistics, in the format of `save`. */
export const MODEL_FILE = 'model.safetensors'
/** A learner's weights and its optimiser's states. */
export const learnerFile = (rank: number): string => `learner-${rank}.safetensors`

/** A checkpoint that has been verified: every byte is as it was written. */
export class Checkpoint {
  readonly folder: string
  readonly manifest: Manifest

  private constructor(folder: string, manifest: Manifest) {
    this.folder = folder
    this.manifest = manifest
  }

  /** Verifies the checkpoint. Throws DATA_CORRUPT if anything is missing, changed or cut short, and DATA_NOT_FOUND. Executes nothing in the files. */
  static async open(folder: string): Promise<Checkpoint> {
    const manifest = await readManifest(folder)
    await verify(folder, manifest)
    return new Checkpoint(folder, manifest)
  }

  get iteration(): number {
    return this.manifest.iteration
  }

  /** Opens one of its files. The caller must close it. */
  file(name: string): Promise<SafetensorsFile> {
    return SafetensorsFile.open(join(this.folder, name))
  }
}
