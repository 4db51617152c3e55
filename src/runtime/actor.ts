import { invalidOption, unknownName } from '../errors.js'
import { importModule } from '../own-module.js'
import type { Cloneable } from './cloneable.js'
import type { ExitReason } from './exit-reason.js'

/**
 * An actor is an object whose public methods are its messages. It handles one message at a time, and those of one sender in the order in
 * which they were sent. A method that returns a promise holds the next message back until the promise settles.
 */
export interface ActorHooks {
  /** Before the first message. A throw makes the spawn fail. */
  started?(): void | Promise<void>
  /** After `started`, in every incarnation but the first: why the previous one ended. A throw counts as another failure. */
  restarted?(reason: ExitReason): void | Promise<void>
  /** An actor that this one watches has ended. Handled before the messages in the mailbox. */
  terminated?(actor: string, reason: ExitReason): void | Promise<void>
  /**
   * After the last message and after the end of its children. Not called if its thread is terminated, nor if the current message takes
   * longer than the actor's `shutdown`.
   */
  stopping?(): void | Promise<void>
}

/** Any class of actors: constructed with the actor's options and its context. */
export type ActorClass = new (options: never, context: never) => object

/** The actor type that a class constructs. */
export type ActorOf<C extends ActorClass> = InstanceType<C>
/** The options that an actor class is constructed with. */
export type OptionsOf<C extends ActorClass> = ConstructorParameters<C>[0]

/** The class that a module, in JavaScript or TypeScript, exports by this name. Rejects with UNKNOWN_NAME, and with any error of the module. */
export async function loadActorClass(module: string, className: string): Promise<ActorClass> {
  const exported = await importModule(module)
  const found = exported[className]
  if (typeof found !== 'function') throw unknownName(`class in ${module}`, className, Object.keys(exported))
  return found as ActorClass
}

const DEFERRED = Symbol.for('arbalest.deferredReply')

/** A reply that is sent when `value` settles, instead of at the end of its turn. Until then the actor handles other messages. */
export class DeferredReply<T> {
  readonly value: Promise<T>

  static {
    Object.defineProperty(this.prototype, DEFERRED, { value: true })
  }

  constructor(value: Promise<T>) {
    if (typeof (value as Partial<Promise<T>> | null)?.catch !== 'function') throw invalidOption('value', value, 'use a promise')
    this.value = value
    // Marked as handled: the runtime listens only from the end of the turn, and then passes a rejection on.
    value.catch(() => {})
  }
}

/** Not by its class: a thread may have two copies of this package, as under --preserve-symlinks, and an actor is of the one, its runtime of the other. */
export function isDeferred(value: unknown): value is DeferredReply<unknown> {
  try {
    return typeof value === 'object' && value !== null && DEFERRED in value
  } catch {
    // A Proxy may throw at any access.
    return false
  }
}

type Method = (...args: never[]) => unknown
type Reply<R> = R extends DeferredReply<infer T> ? T : R

/** The methods that can be messages: all of an actor's but its hooks. */
export type MethodName<A extends object> = {
  [K in keyof A]-?: K extends keyof ActorHooks | symbol | number ? never : A[K] extends Method ? K : never
}[keyof A]

export type ArgumentsOf<M> = M extends (...args: infer P) => unknown ? Extract<Cloneable<P>, unknown[]> : never
type ReplyOf<M> = M extends (...args: never[]) => infer R ? Reply<Awaited<R>> : never

/** An actor's methods as questions, each with an answer or an error. */
export type Asks<A extends object> = { readonly [K in MethodName<A>]: (...args: ArgumentsOf<A[K]>) => Promise<ReplyOf<A[K]>> }

/** An actor's methods as messages without an answer. A method that throws when it was told, not asked, ends its actor. */
export type Tells<A extends object> = { readonly [K in MethodName<A>]: (...args: ArgumentsOf<A[K]>) => void }
