/** Measurements of which each may fail by itself: what went wrong is kept beside what was measured, and the next one is made all the same. */
export class Attempts {
  readonly #failures: Record<string, string> = {}

  /** By what was tried, in the words of its error. */
  get failures(): Readonly<Record<string, string>> {
    return this.#failures
  }

  /** Undefined where it failed. */
  async of<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#failures[what] = error instanceof Error ? error.message : String(error)
      return undefined
    }
  }
}
