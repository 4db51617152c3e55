import type { RowBlock } from './row-block.js'

/** Rows of a block: enough to make the cost of a block small, few enough to hold their cells. */
const ROWS = 1024

/** Turns rows into blocks of columns. */
export class BlockBuilder {
  readonly #width: number
  #columns: unknown[][]
  #rows = 0

  constructor(width: number) {
    this.#width = width
    this.#columns = Array.from({ length: width }, () => [])
  }

  /** Returns a block when it is full. */
  add(row: readonly unknown[]): RowBlock | undefined {
    for (let i = 0; i < this.#width; i++) this.#columns[i]!.push(row[i])
    return ++this.#rows === ROWS ? this.rest() : undefined
  }

  /** The rows that were added since the last block; undefined if there are none. */
  rest(): RowBlock | undefined {
    if (this.#rows === 0) return undefined
    const block = { rows: this.#rows, columns: this.#columns }
    this.#columns = Array.from({ length: this.#width }, () => [])
    this.#rows = 0
    return block
  }
}
