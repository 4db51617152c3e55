import { invalidOption } from '../errors.js'
import { Fifo } from './fifo.js'
import type { Incarnation, UserMessage } from './incarnation.js'

/** What happens to a message when the mailbox is full. */
export type OverflowPolicy =
  /** The sender keeps it until there is room. A sender of many messages awaits `ref.mailboxHasRoom()` between them. */
  | 'wait'
  /** An ask rejects with MAILBOX_FULL, a tell becomes a dead letter. */
  | 'reject'
  /** The oldest message that is still at the sender is dropped: an ask rejects with MAILBOX_FULL, a tell becomes a dead letter. */
  | 'dropOldest'

/** How many messages may wait for an actor, and what happens to further ones. */
export interface MailboxOptions {
  /** Messages that may wait; 1,024 if omitted. */
  readonly capacity?: number
  /** `wait` if omitted. */
  readonly whenFull?: OverflowPolicy
}

const DEFAULT_CAPACITY = 1024

/**
 * Credit-based flow control: bounds an actor's mailbox at its sender. Every message costs a credit, which returns when the actor takes the
 * message from its mailbox. A thread never receives more messages than its mailbox has room for, and messages that are still held here
 * survive a restart.
 */
export class FlowControl {
  /** Messages that may be on their way to one incarnation or in its mailbox. */
  readonly window: number
  readonly #capacity: number
  readonly #whenFull: OverflowPolicy
  readonly #refuse: (message: UserMessage) => void
  readonly #wanted: (message: UserMessage) => boolean
  readonly #kept: (message: UserMessage) => UserMessage
  readonly #held = new Fifo<UserMessage>()
  #incarnation: Incarnation | undefined
  #credits = 0
  #draining = false
  #closed = false
  #roomWaiters: (() => void)[] = []

  /** `refuse` is called for a message without room. A message is held as it is `kept`; one that is no longer `wanted` is not sent. */
  constructor(
    options: MailboxOptions,
    refuse: (message: UserMessage) => void,
    wanted: (message: UserMessage) => boolean,
    kept: (message: UserMessage) => UserMessage
  ) {
    const { capacity = DEFAULT_CAPACITY, whenFull = 'wait' } = options
    if (!Number.isInteger(capacity) || capacity < 1) throw invalidOption('mailbox.capacity', capacity, 'use a whole number of 1 or more')
    if (!['wait', 'reject', 'dropOldest'].includes(whenFull)) {
      throw invalidOption('mailbox.whenFull', whenFull, 'use wait, reject or dropOldest')
    }
    this.#capacity = capacity
    this.#whenFull = whenFull
    this.#refuse = refuse
    this.#wanted = wanted
    this.#kept = kept
    // A message on its way can no longer be dropped: with `dropOldest`, fewer are sent ahead.
    this.window = whenFull === 'dropOldest' ? Math.max(1, capacity >> 2) : capacity
  }

  send(message: UserMessage): void {
    const incarnation = this.#receiver
    // With credit left, no message is held, so this one cannot overtake another.
    if (incarnation && this.#credits > 0) {
      this.#credits--
      incarnation.send(message)
    } else this.#hold(message)
  }

  credit(count: number): void {
    this.#credits += count
    if (this.#held.size > 0) this.#drain()
    if (this.#hasCredit && this.#roomWaiters.length > 0) for (const resolve of this.#roomWaiters.splice(0)) resolve()
  }

  /** Resolves when a message would be sent at once, or when none will ever be sent again. */
  hasRoom(): Promise<void> {
    if (this.#closed || this.#hasCredit) return Promise.resolve()
    return new Promise((resolve) => this.#roomWaiters.push(resolve))
  }

  /** An incarnation begins, with an empty mailbox. */
  connect(incarnation: Incarnation): void {
    this.#incarnation = incarnation
    this.#credits = 0
    this.credit(this.window)
  }

  /** The incarnation has ended: messages wait for the next. */
  disconnect(): void {
    this.#incarnation = undefined
    this.#credits = 0
  }

  /** Ids of the asks that no incarnation has been sent yet. */
  heldAsks(): Set<number> {
    const ids = new Set<number>()
    for (const message of this.#held) if (message[0] === 'ask') ids.add(message[1])
    return ids
  }

  /** There will be no other incarnation: returns the messages that are held. */
  close(): UserMessage[] {
    this.disconnect()
    this.#closed = true
    for (const resolve of this.#roomWaiters.splice(0)) resolve()
    return this.#held.clear()
  }

  /** The incarnation, unless it is ending: messages wait for the next already. */
  get #receiver(): Incarnation | undefined {
    return this.#incarnation?.isEnding ? undefined : this.#incarnation
  }

  get #hasCredit(): boolean {
    return this.#credits > 0 && this.#receiver !== undefined
  }

  #hold(message: UserMessage): void {
    const incarnation = this.#receiver
    if (this.#whenFull === 'reject' && (incarnation || this.#held.size >= this.#capacity)) return this.#refuse(message)
    this.#held.push(this.#kept(message))
    const limit = incarnation ? Math.max(1, this.#capacity - this.window) : this.#capacity
    if (this.#whenFull === 'dropOldest' && this.#held.size > limit) this.#refuse(this.#held.shift()!)
  }

  #drain(): void {
    // A message that cannot be cloned returns its credit at once.
    if (this.#draining) return
    this.#draining = true
    while (this.#hasCredit && this.#held.size > 0) {
      const message = this.#held.shift()!
      if (!this.#wanted(message)) continue
      this.#credits--
      this.#incarnation!.send(message)
    }
    this.#draining = false
  }
}
