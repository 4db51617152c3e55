import type { RowBlock } from './row-block.js'

/** Rows of a block: enough to make the cost of a block small, few enough to hold their cells. */
const ROWS = 1024

/** Turns the rows of a file with lines into blocks of columns. */
export class BlockBuilder {
  readonly #width: number
  #columns: unknown[][]
  #lines: number[] = []

  constructor(width: number) {
    this.#width = width
    this.#columns = Array.from({ length: width }, () => [])
  }

  /** Adds the row that ends in this line. Returns a block when it is full. */
  add(row: readonly unknown[], line: number): RowBlock | undefined {
    for (let i = 0; i < this.#width; i++) this.#columns[i]!.push(row[i])
    this.#lines.push(line)
    return this.#lines.length === ROWS ? this.rest() : undefined
  }

  /** The rows that were added since the last block; undefined if there are none. */
  rest(): RowBlock | undefined {
    if (this.#lines.length === 0) return undefined
    const block = { rows: this.#lines.length, columns: this.#columns, lines: this.#lines }
    this.#columns = Array.from({ length: this.#width }, () => [])
    this.#lines = []
    return block
  }
}
