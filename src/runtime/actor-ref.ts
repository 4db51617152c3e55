import { checkOptions } from '../errors.js'
import type { Asks, Tells } from './actor.js'
import { checkMilliseconds } from './clock.js'
import type { ExitReason } from './exit-reason.js'
import type { UserMessage } from './incarnation.js'
import type { AskOptions, PendingAsks } from './pending-asks.js'

/** What a ref needs of the actor that it refers to. */
export interface Recipient {
  readonly exited: Promise<ExitReason>
  send(message: UserMessage): void
  mailboxHasRoom(): Promise<void>
  suspend(): void
  resume(): void
  stop(deadline: number | undefined): Promise<ExitReason>
}

const ASK_OPTIONS = ['deadline', 'signal'] as const satisfies readonly (keyof AskOptions)[]

/** The address of an actor, through which others talk to it. A ref stays valid when the actor is restarted. */
export class ActorRef<A extends object> {
  readonly name: string
  /** `ref.ask.method(...)`: the answer, or the error that the method threw, or ACTOR_GONE, or DEADLINE_EXCEEDED after 10 seconds. */
  readonly ask: Asks<A>
  /** `ref.tell.method(...)`: delivered at most once, in order; a dead letter if the actor has ended. */
  readonly tell: Tells<A>
  /** Resolves, and never rejects, when the actor has ended and will not be restarted. */
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

  /** `ask` with another deadline or a signal. Throws INVALID_OPTION for options that are no object or have others. */
  askWith(options: AskOptions): Asks<A> {
    checkOptions(options, ASK_OPTIONS)
    const recipient = this.#recipient
    return methodProxy((method, args) => this.#pending.open(method, options, (id) => recipient.send(['ask', id, method, args]))) as Asks<A>
  }

  /** Resolves when the mailbox has room or the actor has ended. A sender of many tells awaits this between them. */
  mailboxHasRoom(): Promise<void> {
    return this.#recipient.mailboxHasRoom()
  }

  /** The actor finishes its current message and handles no other until `resume`. It can still be stopped. */
  suspend(): void {
    this.#recipient.suspend()
  }

  /** The actor handles messages again after `suspend`. */
  resume(): void {
    this.#recipient.resume()
  }

  /**
   * Stops the actor for good, in this order: the current message, its children, the `stopping` hook. If it takes longer than the deadline
   * (its own `shutdown` if omitted), its thread is terminated. Rejects with INVALID_OPTION for a deadline that is no number.
   */
  async stop(options: { deadline?: number } = {}): Promise<ExitReason> {
    checkStop(options)
    return this.#recipient.stop(options.deadline)
  }
}

/** Throws INVALID_OPTION for how an actor or a system is to be stopped. */
export function checkStop(options: { readonly deadline?: number }): void {
  checkOptions(options, ['deadline'])
  if (options.deadline !== undefined) checkMilliseconds('deadline', options.deadline)
}

/** Names of methods that JavaScript itself calls, in `await` and in `JSON.stringify`: an object that is only passed on or logged must send nothing. */
const CALLED_BY_JAVASCRIPT: ReadonlySet<string> = new Set(['then', 'toJSON'])

/** An object that has every method: each calls `send` with its own name. The functions are cached by name. */
export function methodProxy(send: (method: string, args: readonly unknown[]) => unknown): object {
  const methods = new Map<string, (...args: unknown[]) => unknown>()
  return new Proxy(Object.create(null) as object, {
    get(_target, key) {
      if (typeof key === 'symbol' || CALLED_BY_JAVASCRIPT.has(key)) return undefined
      let method = methods.get(key)
      if (!method) methods.set(key, (method = (...args) => send(key, args)))
      return method
    }
  })
}
