import { join } from 'node:path'
import { printable } from '../../errors.js'
import { corruptFile } from '../file-errors.js'
import type { TensorSource } from '../import-weights.js'
import { SafetensorsFile, type TensorEntry } from '../safetensors.js'
import type { Tensor } from '../tensor.js'

/** Where the weights of a folder lie. */
export interface WeightFiles {
  /** File names within the folder. */
  readonly files: readonly string[]
  /** The file of each tensor, where an index says so; otherwise all tensors of the only file. */
  readonly index?: { readonly file: string; readonly shards: ReadonlyMap<string, string> }
}

/** The tensors of one file or of several, all of which are open. */
export class FolderWeights implements TensorSource, AsyncDisposable {
  readonly path: string
  readonly tensors: ReadonlyMap<string, TensorEntry>
  readonly #files: ReadonlyMap<string, SafetensorsFile>
  readonly #shards: WeightFiles['index']

  private constructor(path: string, files: ReadonlyMap<string, SafetensorsFile>, shards: WeightFiles['index']) {
    this.path = path
    this.#files = files
    this.#shards = shards
    this.tensors = shards
      ? new Map([...shards.shards].map(([name, file]) => [name, entryIn(files.get(file)!, name, shards.file)]))
      : [...files.values()][0]!.tensors
  }

  /** Throws DATA_NOT_FOUND for a file that cannot be read, and DATA_CORRUPT, also if a file lacks a tensor that the index gives it. */
  static async open(folder: string, { files: names, index }: WeightFiles): Promise<FolderWeights> {
    const files = new Map<string, SafetensorsFile>()
    try {
      for (const name of names) files.set(name, await SafetensorsFile.open(join(folder, name)))
      return new FolderWeights(folder, files, index)
    } catch (error) {
      await closeAll(files)
      throw error
    }
  }

  async read(name: string): Promise<Tensor> {
    const file = this.#shards ? this.#files.get(this.#shards.shards.get(name) ?? '') : [...this.#files.values()][0]
    return file!.read(name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeAll(this.#files)
  }
}

function entryIn(file: SafetensorsFile, name: string, index: string): TensorEntry {
  const entry = file.tensors.get(name)
  if (entry) return entry
  throw corruptFile(index, {
    where: printable(name),
    expected: `a tensor of ${file.path}`,
    found: `a file of ${file.tensors.size} others`
  })
}

async function closeAll(files: ReadonlyMap<string, SafetensorsFile>): Promise<void> {
  for (const file of files.values()) await file.close()
}
