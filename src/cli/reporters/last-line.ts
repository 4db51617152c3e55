import type { Output } from './reporter.js'

type Chunk = string | Uint8Array
type Write = (chunk: Chunk, ...more: readonly unknown[]) => boolean

/**
 * Keeps the last line of a terminal for what is drawn again and again, such as a progress bar. Whatever else the process writes to the terminal appears
 * above it, such as a user's `console.log`.
 */
export class LastLine implements Disposable {
  /** For what is drawn there. It takes nothing while others have begun a line and not ended it. */
  readonly stream: Output
  readonly #terminal: Output
  readonly #draw: () => void
  readonly #restore: (() => void)[] = []
  #isDrawn = true
  /** Whether the last line that others have written is whole. */
  #isWhole = true

  /** `others` are streams to the same terminal. `draw` writes the line to `stream`. */
  constructor(terminal: Output, others: readonly Output[], draw: () => void) {
    this.#terminal = terminal
    this.#draw = draw
    const write = terminal.write.bind(terminal) as Write
    this.stream = Object.create(terminal, { write: { value: (text: string) => !this.#isWhole || write(text) } }) as Output
    for (const stream of [terminal, ...others]) this.#lead(stream, () => write('\r\x1b[K'))
  }

  /** Nothing is drawn from now on. */
  [Symbol.dispose](): void {
    this.#isDrawn = false
    for (const restore of this.#restore) restore()
    if (!this.#isWhole) this.#terminal.write('\n')
    this.#isWhole = true
  }

  /** Replaces a stream's `write` by one that writes above the line. */
  #lead(stream: Output, clear: () => void): void {
    const write = stream.write as Write
    const above: Write = (chunk, ...more) => {
      if (!this.#isDrawn) return write.call(stream, chunk, ...more)
      if (this.#isWhole) clear()
      const hasRoom = write.call(stream, chunk, ...more)
      const end = chunk.at(-1)
      if (end !== undefined) this.#isWhole = end === '\n' || end === 10
      if (this.#isWhole) this.#draw()
      return hasRoom
    }
    stream.write = above
    this.#restore.push(() => {
      // Others may have put a function of their own in its place.
      if (stream.write === above) stream.write = write
    })
  }
}
