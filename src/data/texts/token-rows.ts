import type { DatasetSpec } from '../../engine/contract.js'
import { allocate } from '../checks.js'
import type { TextTokens } from './text-tokens.js'

/** Texts of a block. */
const TEXTS = 1024

/** Collects texts as rows of `length` tokens, zeros behind the end of each. */
export class TokenRows {
  readonly length: number
  readonly #tokens: TextTokens
  readonly #blocks: (Uint8Array | Int32Array)[] = []
  #count = 0

  constructor(length: number, tokens: TextTokens) {
    this.length = length
    this.#tokens = tokens
  }

  get count(): number {
    return this.#count
  }

  /** Throws OUT_OF_MEMORY, and what the tokens throw. */
  add(text: string): void {
    if (this.#count % TEXTS === 0) this.#blocks.push(this.#tokens.room(TEXTS * this.length))
    this.#tokens.write(text, this.#row(this.#count++))
  }

  /** Some rows as token ids. Throws OUT_OF_MEMORY. */
  samples(rows: Int32Array): Pick<DatasetSpec, 'count' | 'sample'> & { readonly samples: Int32Array } {
    const samples = new Int32Array(allocate(4 * rows.length * this.length, 'texts').buffer)
    for (const [i, row] of rows.entries()) samples.set(this.#row(row), i * this.length)
    return { count: rows.length, sample: [this.length], samples }
  }

  #row(row: number): Uint8Array | Int32Array {
    const at = (row % TEXTS) * this.length
    return this.#blocks[Math.floor(row / TEXTS)]!.subarray(at, at + this.length)
  }
}
