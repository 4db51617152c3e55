import { digits } from '../../../src/data/digits/digits.js'
import type { DatasetSpec } from '../../../src/engine/contract.js'
import { Folder, idxFile } from '../../data/support/files.js'

const SAMPLES = 200
const SIDE = 28

/**
 * 200 digits in MNIST's files, for commands that train for a moment: the data set `digits` has 20,000, and drawing them takes longer than such a
 * training.
 */
export class FewDigits implements AsyncDisposable {
  readonly #folder: Folder

  private constructor(folder: Folder) {
    this.#folder = folder
  }

  static async make(): Promise<FewDigits> {
    const folder = await Folder.make()
    const { train, test } = await digits({ samples: SAMPLES })
    const write = async (part: string, { count, samples, labels }: DatasetSpec) => {
      await folder.write(`${part}-images-idx3-ubyte`, idxFile([count, SIDE, SIDE], samples as Uint8Array))
      await folder.write(`${part}-labels-idx1-ubyte`, idxFile([count], Uint8Array.from(labels!)))
    }
    await write('train', train)
    await write('t10k', test)
    return new FewDigits(folder)
  }

  /** The flags that choose this data set. */
  get flags(): readonly string[] {
    return ['--data', 'mnist', '--data-dir', this.directory]
  }

  get directory(): string {
    return this.#folder.path
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#folder[Symbol.asyncDispose]()
  }
}
