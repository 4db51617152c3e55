/** Runs what is put into it one at a time, in order, never inside of the call that puts it there. */
export class Mailbox<T> {
  readonly #handle: (item: T) => void | Promise<void>
  #arriving: T[] = []
  #batch: readonly T[] = []
  #next = 0
  #open = false
  #running = false
  #idle: (() => void) | undefined

  /** `handle` must not throw, nor its promise reject. */
  constructor(handle: (item: T) => void | Promise<void>) {
    this.#handle = handle
  }

  put(item: T): void {
    this.#arriving.push(item)
    this.#schedule()
  }

  /** Nothing is handled before this. */
  open(): void {
    this.#open = true
    this.#schedule()
  }

  /** Handles nothing more and forgets what waits. Resolves when the item in hand is done. */
  close(): Promise<void> {
    this.#open = false
    this.#arriving = []
    this.#batch = []
    this.#next = 0
    if (!this.#running) return Promise.resolve()
    return new Promise((resolve) => (this.#idle = resolve))
  }

  #schedule(): void {
    if (!this.#open || this.#running) return
    this.#running = true
    queueMicrotask(() => this.#run())
  }

  #run(): void {
    while (this.#open && this.#advance()) {
      const done = this.#handle(this.#batch[this.#next++]!)
      if (done === undefined) continue
      void done.then(() => this.#run())
      return
    }
    this.#running = false
    this.#idle?.()
  }

  /** Taking whole batches keeps a long queue from being shifted item by item. */
  #advance(): boolean {
    if (this.#next < this.#batch.length) return true
    if (this.#arriving.length === 0) return false
    this.#batch = this.#arriving
    this.#arriving = []
    this.#next = 0
    return true
  }
}
