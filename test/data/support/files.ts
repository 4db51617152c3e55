import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder for one test's files. */
export class Folder implements AsyncDisposable {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  static async make(): Promise<Folder> {
    return new Folder(await mkdtemp(join(tmpdir(), 'arbalest data ')))
  }

  async write(name: string, content: Uint8Array): Promise<string> {
    const path = join(this.path, name)
    await writeFile(path, content)
    return path
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true })
  }
}

/** An idx file of unsigned bytes. */
export function idxFile(shape: readonly number[], bytes: Uint8Array): Buffer {
  const header = Buffer.alloc(4 + 4 * shape.length)
  header.writeUInt32BE(0x0800 | shape.length, 0)
  shape.forEach((extent, axis) => header.writeUInt32BE(extent, 4 + 4 * axis))
  return Buffer.concat([header, bytes])
}

/** A CIFAR-10 batch in which pixel i of record r is (r + i) mod 251. */
export function cifarFile(labels: readonly number[]): Buffer {
  return Buffer.concat(labels.map((label, r) => Buffer.from([label, ...Array.from({ length: 3072 }, (_, i) => (r + i) % 251)])))
}
