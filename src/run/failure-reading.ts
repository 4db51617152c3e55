interface Failure {
  readonly error: unknown
}

/** Failures of runs that the program has not read. */
const unread = new Set<Failure>()

/**
 * Whether a program reads the failure of its run. One that does not would end as if all had gone well: it ends with the error instead, once it has nothing else
 * to do. Node's own rule for rejections ends a program at once, with the other runs that it trains.
 */
export class FailureReading {
  #isRead = false
  #failure: Failure | undefined

  /** The program has asked for the outcome of the run. */
  begin(): void {
    this.#isRead = true
    if (this.#failure && unread.delete(this.#failure) && unread.size === 0) process.off('beforeExit', throwUnread)
  }

  failed(error: unknown): void {
    if (this.#isRead) return
    if (unread.size === 0) process.on('beforeExit', throwUnread)
    this.#failure = { error }
    unread.add(this.#failure)
  }
}

function throwUnread(): void {
  for (const { error } of unread) throw error
}
