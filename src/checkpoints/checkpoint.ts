import { join } from 'node:path'
import { SafetensorsFile } from '../formats/safetensors.js'
import { readManifest, verify, type Manifest } from './manifest.js'

/** A checkpoint whose every byte is as it was written. */
export class Checkpoint {
  readonly folder: string
  readonly manifest: Manifest

  private constructor(folder: string, manifest: Manifest) {
    this.folder = folder
    this.manifest = manifest
  }

  /** Throws DATA_CORRUPT for anything missing, changed or cut short, and DATA_NOT_FOUND. Runs nothing that it finds. */
  static async open(folder: string): Promise<Checkpoint> {
    const manifest = await readManifest(folder)
    await verify(folder, manifest)
    return new Checkpoint(folder, manifest)
  }

  get iteration(): number {
    return this.manifest.iteration
  }

  /** One of its files by the name under which it was written; to be closed by the caller. */
  file(name: string): Promise<SafetensorsFile> {
    return SafetensorsFile.open(join(this.folder, name))
  }
}
