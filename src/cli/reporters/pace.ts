/** Seconds until the first line, the least and the most between two lines, and their share of the time so far between these. */
const FIRST = 2
const LEAST = 4
const MOST = 600
const SHARE = 1 / 8

/**
 * When lines of progress are written to a file or pipe, which keeps all of them: soon, then every few seconds, and less and less often, at last every ten
 * minutes. That is ten lines of half a minute, fifty of an hour and two hundred of a day.
 */
export class Pace {
  readonly #now: () => number
  readonly #from: number
  #next: number

  /** `now` returns milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#from = now()
    this.#next = FIRST
  }

  /** Whether a line is due; the next one then is due later. */
  isDue(): boolean {
    const seconds = (this.#now() - this.#from) / 1000
    if (seconds < this.#next) return false
    this.#next = seconds + Math.min(MOST, Math.max(LEAST, SHARE * seconds))
    return true
  }
}
