/** The longest line that is taken, in characters: an event may have all messages that a run has sent to its learners. */
const LONGEST = 2 ** 28

/** Takes a text apart into lines while it comes in pieces. A line that is too long is left out, so that a file that is no log takes bounded memory. */
export class LineSplitter {
  readonly #longest: number
  /** Of the line that has not ended yet; undefined if it is too long. */
  #parts: string[] | undefined = []
  #length = 0

  /** `longest`: for tests. */
  constructor(longest = LONGEST) {
    this.#longest = longest
  }

  /** The lines that end in this piece. */
  *push(text: string): Generator<string, void> {
    let from = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      this.#keep(text.slice(from, end))
      const line = this.takeRest()
      if (line !== undefined) yield line
      from = end + 1
    }
    this.#keep(text.slice(from))
  }

  /** The line that no newline has ended, which is then forgotten; undefined if it was too long. */
  takeRest(): string | undefined {
    const line = this.#parts?.join('')
    this.#parts = []
    this.#length = 0
    return line
  }

  #keep(part: string): void {
    this.#length += part.length
    if (this.#length > this.#longest) this.#parts = undefined
    else this.#parts?.push(part)
  }
}
