import { Fifo } from './fifo.js'
import type { Realm } from './realm.js'

/** Something that the runtime itself does to an actor; must not throw, nor its promise reject. */
export type SystemTurn = () => void | Promise<void>

/**
 * Runs what is put into it one at a time, in order, never inside of the call that puts it there. What the system asks for comes before
 * what users sent, and goes on while it is suspended.
 */
export class Mailbox<T> {
  readonly #handle: (item: T) => void | Promise<void>
  readonly #turns: Pick<Realm, 'dispatch' | 'burst'>
  readonly #system = new Fifo<SystemTurn>()
  readonly #user = new Fifo<T>()
  #open = false
  #suspended = false
  #running = false
  #idle: (() => void) | undefined

  /** `handle` must not throw, nor its promise reject. */
  constructor(turns: Pick<Realm, 'dispatch' | 'burst'>, handle: (item: T) => void | Promise<void>) {
    this.#turns = turns
    this.#handle = handle
  }

  /** Messages that wait. */
  get depth(): number {
    return this.#user.size
  }

  put(item: T): void {
    this.#user.push(item)
    this.#schedule()
  }

  putSystem(turn: SystemTurn): void {
    this.#system.push(turn)
    this.#schedule()
  }

  /** Nothing is handled before this. */
  open(): void {
    this.#open = true
    this.#schedule()
  }

  /** Messages of users wait until `resume`. */
  suspend(): void {
    this.#suspended = true
  }

  resume(): void {
    this.#suspended = false
    this.#schedule()
  }

  /** Handles nothing more; gives back the messages that waited. */
  close(): T[] {
    this.#open = false
    this.#system.clear()
    return this.#user.clear()
  }

  /** Resolves when the item in hand is done; only after `close`. */
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
    this.#turns.dispatch(() => this.#run())
  }

  #run(): void {
    for (let left = this.#turns.burst; this.#waiting; left--) {
      if (left === 0) return this.#turns.dispatch(() => this.#run())
      const turn = this.#system.shift()
      const done = turn ? turn() : this.#handle(this.#user.shift()!)
      if (done === undefined) continue
      void done.then(() => this.#turns.dispatch(() => this.#run()))
      return
    }
    this.#running = false
    this.#idle?.()
  }
}
