import { ArbalestError, unknownName } from '../errors.js'
import { Later, type ActorClass, type ActorContext, type ActorHooks, type ExitReason } from './actor.js'
import { asError } from './errors-across-threads.js'
import { Mailbox } from './mailbox.js'
import { methodProxy } from './method-proxy.js'

export type Outcome = { readonly value: unknown } | { readonly error: unknown }

/** One message to an actor; without `reply` it was told and not asked. */
export interface Delivery {
  readonly method: string
  readonly args: readonly unknown[]
  readonly reply?: (outcome: Outcome) => void
}

const HOOKS: ReadonlySet<string> = new Set(['constructor', 'started', 'stopping'])

/** An actor with its mailbox, in the thread where it lives. */
export class Cell {
  /** Resolves, never rejects, when the actor is no more. */
  readonly exited: Promise<ExitReason>
  readonly #name: string
  readonly #actor: ActorHooks
  readonly #mailbox = new Mailbox<Delivery>((delivery) => this.#handle(delivery))
  #resolveExit!: (reason: ExitReason) => void
  #ending = false

  /** The actor is made, its `started` hook has run, and its mailbox is open. Rejects with what the actor threw. */
  static async start(name: string, actorClass: ActorClass, options: unknown): Promise<Cell> {
    const cell = new Cell(name, actorClass, options)
    await cell.#actor.started?.()
    cell.#mailbox.open()
    return cell
  }

  private constructor(name: string, actorClass: ActorClass, options: unknown) {
    this.#name = name
    this.exited = new Promise((resolve) => (this.#resolveExit = resolve))
    // A message to itself waits for the event loop's next turn, so that what comes from other threads gets its turn too.
    const tell = methodProxy((method, args) => void setImmediate(() => this.deliver({ method, args })))
    const context = { name, self: { tell } } as ActorContext<object>
    this.#actor = new actorClass(options as never, context as never)
  }

  /** What arrives after the end is dropped: whoever asked learns of it by the exit. */
  deliver(delivery: Delivery): void {
    if (!this.#ending) this.#mailbox.put(delivery)
  }

  /** Ends the actor after the message in hand, ahead of those that wait. */
  stop(): void {
    void this.#end({ kind: 'stopped' })
  }

  #handle(delivery: Delivery): void | Promise<void> {
    let result: unknown
    try {
      result = this.#invoke(delivery)
    } catch (error) {
      return this.#settle(delivery, { error })
    }
    if (!isThenable(result)) return this.#settle(delivery, { value: result })
    return Promise.resolve(result).then(
      (value) => this.#settle(delivery, { value }),
      (error: unknown) => this.#settle(delivery, { error })
    )
  }

  #invoke({ method, args }: Delivery): unknown {
    const found = HOOKS.has(method) ? undefined : (this.#actor as Record<string, unknown>)[method]
    if (typeof found !== 'function') throw unknownName(`method of ${this.#name}`, method, methodsOf(this.#actor))
    return found.apply(this.#actor, args)
  }

  #settle({ reply, method }: Delivery, outcome: Outcome): void {
    if ('value' in outcome && outcome.value instanceof Later) {
      const later = outcome.value.value as Promise<unknown>
      void later.then(
        (value) => this.#settle({ method, args: [], ...(reply && { reply }) }, { value }),
        (error: unknown) => this.#settle({ method, args: [], ...(reply && { reply }) }, { error })
      )
    } else if (reply) {
      reply(outcome)
    } else if ('error' in outcome) {
      const error = asError(outcome.error)
      void this.#end({ kind: 'failed', error })
    }
  }

  async #end(reason: ExitReason): Promise<void> {
    if (this.#ending) return
    this.#ending = true
    // A failure is ended from inside of the message that failed: waiting for that message would wait for ever.
    const idle = this.#mailbox.close()
    if (reason.kind === 'stopped') await idle
    try {
      await this.#actor.stopping?.()
      this.#resolveExit(reason)
    } catch (error) {
      this.#resolveExit(reason.kind === 'failed' ? reason : { kind: 'failed', error: asError(error) })
    }
  }
}

/** The error of an ask whose actor is no more. */
export function goneError(name: string, method: string, why: string, cause?: Error): ArbalestError {
  const message = `${name}.${method}: no answer will come, ${why}; spawn the actor anew`
  return new ArbalestError('ACTOR_GONE', message, { data: { actor: name, method }, ...(cause && { cause }) })
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

function methodsOf(actor: object): string[] {
  const names = new Set<string>()
  for (let level: object | null = actor; level && level !== Object.prototype; level = Object.getPrototypeOf(level) as object | null) {
    for (const name of Object.getOwnPropertyNames(level)) {
      if (!HOOKS.has(name) && typeof (actor as Record<string, unknown>)[name] === 'function') names.add(name)
    }
  }
  return [...names]
}
