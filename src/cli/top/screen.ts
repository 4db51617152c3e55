import { hasCursor } from '../terminal.js'

/** What a screen needs of a terminal, a file or a pipe. */
export type ScreenOutput = Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'rows'>

/** On a terminal each table overwrites the one before; in a file or pipe they follow one another. */
export class Screen {
  readonly #output: ScreenOutput
  readonly #overwrites: boolean
  #linesShown = 0

  /** `isOverwritten`: whether another table follows the first. One that none follows is whole, however low the terminal is. */
  constructor(output: ScreenOutput, { isOverwritten }: { readonly isOverwritten: boolean }) {
    this.#output = output
    this.#overwrites = isOverwritten && hasCursor(output)
  }

  show(lines: readonly string[]): void {
    const { rows } = this.#output
    // A terminal that does not know its height has 0.
    if (!this.#overwrites || rows === 0) {
      this.#output.write(`${lines.join('\n')}\n`)
      return
    }
    // Lines that wrap or scroll away could not be overwritten: the terminal is told not to wrap, and lines beyond its height are omitted.
    const fitting = lines.slice(0, Math.max(1, rows - 1))
    const up = this.#linesShown > 0 ? `\x1b[${this.#linesShown}A` : ''
    this.#output.write(`${up}\r\x1b[J\x1b[?7l${fitting.join('\n')}\n\x1b[?7h`)
    this.#linesShown = fitting.length
  }
}
