import { mkdtemp, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const BUILT = fileURLToPath(new URL('../../', import.meta.url))

/** A folder on the disk that has this project: the system's folder for temporary files may lie in memory. */
export class DiskFolder implements AsyncDisposable {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  static async make(): Promise<DiskFolder> {
    return new DiskFolder(await mkdtemp(`${BUILT}moved-values-`))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true })
  }
}
