import type { Asks, ExitReason, Tells } from './actor.js'
import type { UserMessage } from './life.js'
import { methodProxy } from './method-proxy.js'
import type { AskOptions, PendingAsks } from './pending-asks.js'

/** The way from a ref to its actor. */
export interface Recipient {
  readonly exited: Promise<ExitReason>
  send(message: UserMessage): void
  room(): Promise<void>
  suspend(): void
  resume(): void
  stop(deadline: number | undefined): Promise<ExitReason>
}

/** What others hold of an actor. It stays valid when the actor is restarted. */
export class ActorRef<A extends object> {
  readonly name: string
  /** `ref.ask.method(...)`: the answer, or the error that the method threw, or ACTOR_GONE, or DEADLINE_EXCEEDED after 10 seconds. */
  readonly ask: Asks<A>
  /** `ref.tell.method(...)`: at most once, in order; a dead letter where the actor is no more. */
  readonly tell: Tells<A>
  /** Resolves, never rejects, when the actor is no more and will not be restarted. */
  readonly exited: Promise<ExitReason>
  readonly #recipient: Recipient
  readonly #pending: PendingAsks

  constructor(name: string, recipient: Recipient, pending: PendingAsks) {
    this.name = name
    this.exited = recipient.exited
    this.#recipient = recipient
    this.#pending = pending
    this.ask = this.askWith({})
    this.tell = methodProxy((method, args) => recipient.send(['tell', method, args])) as Tells<A>
  }

  /** `ask` with another deadline or a signal. */
  askWith(options: AskOptions): Asks<A> {
    const recipient = this.#recipient
    return methodProxy((method, args) => this.#pending.open(method, options, (id) => recipient.send(['ask', id, method, args]))) as Asks<A>
  }

  /** Resolves when its mailbox has room, or it is no more. A sender of many tells waits for this between them. */
  room(): Promise<void> {
    return this.#recipient.room()
  }

  /** It finishes the message in hand and handles no other until `resume`; it can be stopped. */
  suspend(): void {
    this.#recipient.suspend()
  }

  /** It handles messages again after `suspend`. */
  resume(): void {
    this.#recipient.resume()
  }

  /**
   * Stops for good and in order: the message in hand, its children, the `stopping` hook; the thread of an actor that takes longer than
   * the deadline, its own `shutdown` if left out, is ended.
   */
  stop({ deadline }: { deadline?: number } = {}): Promise<ExitReason> {
    return this.#recipient.stop(deadline)
  }
}
