import type { Asks, ExitReason, Tells } from './actor.js'
import { methodProxy } from './method-proxy.js'
import type { AskOptions, PendingAsks } from './pending-asks.js'

/** The way from a ref to its actor, in this thread or in another. */
export interface Link {
  readonly exited: Promise<ExitReason>
  ask(id: number, method: string, args: readonly unknown[]): void
  tell(method: string, args: readonly unknown[]): void
  /** Resolves when the actor's thread, if it has one of its own, is no more. */
  stop(deadline: number): Promise<ExitReason>
}

export const DEFAULT_STOP_DEADLINE = 5_000

/** What others hold of an actor. */
export class ActorRef<A extends object> {
  readonly name: string
  /** `ref.ask.method(...)`: the answer, or the error that the method threw, or ACTOR_GONE, or DEADLINE_EXCEEDED after 10 seconds. */
  readonly ask: Asks<A>
  /** `ref.tell.method(...)`: at most once, in order; dropped where the actor is no more. */
  readonly tell: Tells<A>
  /** Resolves, never rejects, when the actor is no more. */
  readonly exited: Promise<ExitReason>
  readonly #link: Link
  readonly #pending: PendingAsks

  constructor(name: string, link: Link, pending: PendingAsks) {
    this.name = name
    this.exited = link.exited
    this.#link = link
    this.#pending = pending
    this.ask = this.askWith({})
    this.tell = methodProxy((method, args) => link.tell(method, args)) as Tells<A>
  }

  /** `ask` with another deadline or a signal. */
  askWith(options: AskOptions): Asks<A> {
    const link = this.#link
    return methodProxy((method, args) => this.#pending.open(method, options, (id) => link.ask(id, method, args))) as Asks<A>
  }

  /** Stops in order: the message in hand, the `stopping` hook; the thread of an actor that takes longer than the deadline is ended. */
  stop({ deadline = DEFAULT_STOP_DEADLINE }: { deadline?: number } = {}): Promise<ExitReason> {
    return this.#link.stop(deadline)
  }
}
