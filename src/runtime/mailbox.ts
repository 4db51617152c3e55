import { Fifo } from './fifo.js'
import type { Dispatcher } from './dispatcher.js'

/** What the runtime itself does to an actor. It must not throw, nor its promise reject. */
export type SystemMessage = () => void | Promise<void>

export type MailboxDispatcher = Pick<Dispatcher, 'dispatch' | 'throughput' | 'handled'>

/**
 * Handles messages one at a time, in order, and never inside the call that puts them here. The runtime's own messages go before those of
 * users, and are handled while the mailbox is suspended, too.
 */
export class Mailbox<T> {
  readonly #handle: (item: T) => void | Promise<void>
  readonly #dispatcher: MailboxDispatcher
  readonly #system = new Fifo<SystemMessage>()
  readonly #user = new Fifo<T>()
  #open = false
  #suspended = false
  #running = false
  #idle: (() => void) | undefined

  /** `handle` must not throw, nor its promise reject. */
  constructor(dispatcher: MailboxDispatcher, handle: (item: T) => void | Promise<void>) {
    this.#dispatcher = dispatcher
    this.#handle = handle
  }

  /** How many messages wait. */
  get depth(): number {
    return this.#user.size
  }

  put(item: T): void {
    this.#user.push(item)
    this.#schedule()
  }

  putSystem(message: SystemMessage): void {
    this.#system.push(message)
    this.#schedule()
  }

  /** Begins to handle messages. */
  open(): void {
    this.#open = true
    this.#schedule()
  }

  /** Messages from users wait until `resume`. */
  suspend(): void {
    this.#suspended = true
  }

  resume(): void {
    this.#suspended = false
    this.#schedule()
  }

  /** Handles no further message; returns those that waited. */
  close(): T[] {
    this.#open = false
    this.#system.clear()
    return this.#user.clear()
  }

  /** Resolves when the current message is done. Call it after `close`. */
  idle(): Promise<void> {
    if (!this.#running) return Promise.resolve()
    return new Promise((resolve) => (this.#idle = resolve))
  }

  get #waiting(): boolean {
    return this.#open && (this.#system.size > 0 || (!this.#suspended && this.#user.size > 0))
  }

  #schedule(): void {
    if (this.#running || !this.#waiting) return
    this.#running = true
    this.#dispatcher.dispatch(() => this.#run())
  }

  #run(): void {
    let overdue = false
    for (let left = this.#dispatcher.throughput; this.#waiting; left--) {
      if (left === 0 || overdue) return this.#dispatcher.dispatch(() => this.#run())
      const systemMessage = this.#system.shift()
      const done = systemMessage ? systemMessage() : this.#handle(this.#user.shift()!)
      if (done !== undefined) return void done.then(() => this.#continue())
      overdue = this.#dispatcher.handled()
    }
    this.#running = false
    this.#idle?.()
  }

  #continue(): void {
    this.#dispatcher.handled()
    this.#dispatcher.dispatch(() => this.#run())
  }
}
