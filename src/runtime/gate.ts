import { invalidOption } from '../errors.js'
import { Fifo } from './fifo.js'
import type { Life, UserMessage } from './life.js'

/** What becomes of a message to an actor whose mailbox is full. */
export type FullPolicy =
  /** The sender keeps it until there is room; `ref.room()` says when. Whoever sends without end must wait for that. */
  | 'wait'
  /** An ask rejects with MAILBOX_FULL, a tell becomes a dead letter. */
  | 'reject'
  /** The oldest that has not left the sender becomes a dead letter, or rejects with MAILBOX_FULL. */
  | 'dropOldest'

/** How many messages may wait for an actor, and what becomes of one more. */
export interface MailboxOptions {
  /** Messages that may wait; 1,024 if left out. */
  readonly capacity?: number
  /** `wait` if left out. */
  readonly whenFull?: FullPolicy
}

const DEFAULT_CAPACITY = 1024

/**
 * Bounds an actor's mailbox at its sender: every message costs a credit, which comes back when the actor takes the message up. So no
 * thread is ever sent more than it has room for, and what waits outlives the life that it was not yet sent to.
 */
export class Gate {
  /** Messages that may be on their way or in the mailbox of one life. */
  readonly window: number
  readonly #capacity: number
  readonly #whenFull: FullPolicy
  readonly #refuse: (message: UserMessage) => void
  readonly #wanted: (message: UserMessage) => boolean
  readonly #held = new Fifo<UserMessage>()
  #life: Life | undefined
  #credits = 0
  #closed = false
  #roomWaiters: (() => void)[] = []

  /** `refuse` takes what there is no room for; of what waited, only that which is still `wanted` is sent. */
  constructor(options: MailboxOptions, refuse: (message: UserMessage) => void, wanted: (message: UserMessage) => boolean) {
    const { capacity = DEFAULT_CAPACITY, whenFull = 'wait' } = options
    if (!Number.isInteger(capacity) || capacity < 1) throw invalidOption('mailbox.capacity', capacity, 'use a whole number of 1 or more')
    if (!['wait', 'reject', 'dropOldest'].includes(whenFull)) {
      throw invalidOption('mailbox.whenFull', whenFull, 'use wait, reject or dropOldest')
    }
    this.#capacity = capacity
    this.#whenFull = whenFull
    this.#refuse = refuse
    this.#wanted = wanted
    // What is on its way can no longer be dropped, so less of it is let go where the oldest shall be.
    this.window = whenFull === 'dropOldest' ? Math.max(1, capacity >> 2) : capacity
  }

  /** Messages not yet taken up, here and there. */
  get waiting(): number {
    return this.#held.size + this.inFlight
  }

  /** Messages sent to this life that it has not said to have taken up. */
  get inFlight(): number {
    return this.#life ? this.window - this.#credits : 0
  }

  send(message: UserMessage): void {
    // While there is credit nothing is held.
    if (this.#credits > 0) {
      this.#credits--
      this.#life!.send(message)
    } else this.#hold(message)
  }

  credit(count: number): void {
    this.#credits += count
    if (this.#held.size > 0) this.#drain()
    if (this.#credits > 0 && this.#roomWaiters.length > 0) for (const resolve of this.#roomWaiters.splice(0)) resolve()
  }

  /** Resolves when a message would be sent at once, or never will be. */
  room(): Promise<void> {
    if (this.#closed || this.#credits > 0) return Promise.resolve()
    return new Promise((resolve) => this.#roomWaiters.push(resolve))
  }

  /** A life begins, its mailbox empty. */
  open(life: Life): void {
    this.#life = life
    this.#credits = 0
    this.credit(this.window)
  }

  /** It has ended: messages wait for the next. */
  shut(): void {
    this.#life = undefined
    this.#credits = 0
  }

  /** Ids of the asks that no life has been given yet. */
  heldAsks(): Set<number> {
    const ids = new Set<number>()
    for (const message of this.#held) if (message[0] === 'ask') ids.add(message[1])
    return ids
  }

  /** There will be no other: gives back what waits. */
  close(): UserMessage[] {
    this.shut()
    this.#closed = true
    for (const resolve of this.#roomWaiters.splice(0)) resolve()
    return this.#held.clear()
  }

  #hold(message: UserMessage): void {
    if (this.#whenFull === 'reject' && (this.#life || this.#held.size >= this.#capacity)) return this.#refuse(message)
    this.#held.push(message)
    const limit = this.#life ? Math.max(1, this.#capacity - this.window) : this.#capacity
    if (this.#whenFull === 'dropOldest' && this.#held.size > limit) this.#refuse(this.#held.shift()!)
  }

  #drain(): void {
    while (this.#credits > 0 && this.#held.size > 0) {
      const message = this.#held.shift()!
      if (!this.#wanted(message)) continue
      this.#credits--
      this.#life!.send(message)
    }
  }
}
