/** A table that is written to a stream row by row; nowhere if the stream is null. The first columns, of words, are aligned to the left, those of numbers to the right. */
export class Table {
  readonly #widths: readonly number[]
  readonly #words: number
  readonly #stream: NodeJS.WritableStream | null

  constructor(widths: readonly number[], stream: NodeJS.WritableStream | null, { words = 1 }: { words?: number } = {}) {
    this.#widths = widths
    this.#words = words
    this.#stream = stream
  }

  row(cells: readonly string[]): void {
    const padded = cells.map((cell, column) => {
      const width = this.#widths[column] ?? 0
      return column < this.#words ? cell.padEnd(width) : cell.padStart(width)
    })
    this.#stream?.write(`${padded.join(' ').trimEnd()}\n`)
  }

  /** A line under the last row. */
  note(text: string): void {
    this.#stream?.write(`  ${text}\n`)
  }
}
