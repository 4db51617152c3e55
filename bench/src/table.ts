/** A table that grows row by row on a stream; on `null` it is silent. First column to the left, numbers to the right. */
export class Table {
  readonly #widths: readonly number[]
  readonly #stream: NodeJS.WritableStream | null

  constructor(widths: readonly number[], stream: NodeJS.WritableStream | null) {
    this.#widths = widths
    this.#stream = stream
  }

  row(cells: readonly string[]): void {
    const padded = cells.map((cell, column) => {
      const width = this.#widths[column] ?? 0
      return column === 0 ? cell.padEnd(width) : cell.padStart(width)
    })
    this.#stream?.write(`${padded.join(' ').trimEnd()}\n`)
  }

  /** A line under the last row. */
  note(text: string): void {
    this.#stream?.write(`  ${text}\n`)
  }
}
