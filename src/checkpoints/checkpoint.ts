import { join } from 'node:path'
import { SafetensorsFile } from '../formats/safetensors.js'
import { readManifest, verify, type Manifest } from './manifest.js'

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
