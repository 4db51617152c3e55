/** On a terminal each picture takes the place of the one before; elsewhere they follow one another. */
export class Screen {
  readonly #output: NodeJS.WriteStream
  readonly #movable: boolean
  #shown = 0

  constructor(output: NodeJS.WriteStream) {
    this.#output = output
    this.#movable = output.isTTY && process.env['TERM'] !== 'dumb'
  }

  show(lines: readonly string[]): void {
    if (!this.#movable) {
      this.#output.write(`${lines.join('\n')}\n`)
      return
    }
    // What wraps or scrolls away could not be drawn over: the terminal cuts lines that are too long, and what does not fit is left out.
    const fitting = lines.slice(0, Math.max(1, this.#output.rows - 1))
    const up = this.#shown > 0 ? `\x1b[${this.#shown}A` : ''
    this.#output.write(`${up}\r\x1b[J\x1b[?7l${fitting.join('\n')}\n\x1b[?7h`)
    this.#shown = fitting.length
  }
}
