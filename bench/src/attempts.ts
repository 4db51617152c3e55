/** Measurements that may fail one by one: a failure is recorded, and does not stop the next measurement. */
export class Attempts {
  readonly #failures: Record<string, string> = {}

  /** The error messages, by the name of the measurement. */
  get failures(): Readonly<Record<string, string>> {
    return this.#failures
  }

  /** Resolves with undefined if the work fails. */
  async of<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#failures[what] = error instanceof Error ? error.message : String(error)
      return undefined
    }
  }
}
