import type { Portable } from './portable.js'

export type { ActorContext } from './context.js'

/**
 * An actor is an object whose public methods are its messages. It handles one at a time, in the order in which each sender sent them;
 * a method that returns a promise holds the next message back until the promise settles.
 */
export interface ActorHooks {
  /** Before the first message. A throw here makes the spawn fail. */
  started?(): void | Promise<void>
  /** After `started`, in every life but the first: why the life before ended. A throw counts as another failure. */
  restarted?(reason: ExitReason): void | Promise<void>
  /** An actor that this one watches is no more. Comes ahead of the messages that wait. */
  terminated?(actor: string, reason: ExitReason): void | Promise<void>
  /**
   * After the last message and after its children, however the actor ends, unless its thread is killed, or it is left behind with a message that
   * does not end within its `shutdown`.
   */
  stopping?(): void | Promise<void>
}

/** Any class of actors: made with its options and its context. */
export type ActorClass = new (options: never, context: never) => object

/** The actor that a class makes, and the options that it is made with. */
export type ActorOf<C extends ActorClass> = InstanceType<C>
/** The options that an actor class is made with. */
export type OptionsOf<C extends ActorClass> = ConstructorParameters<C>[0]

/**
 * A reply that comes later than the end of its turn: the actor handles other messages meanwhile, and the asker gets `value` once it
 * settles.
 */
export class Later<T> {
  readonly value: Promise<T>

  constructor(value: Promise<T>) {
    this.value = value
    // The asker is told of a failure; until its turn's end nobody else listens.
    value.catch(() => {})
  }
}

type Method = (...args: never[]) => unknown
type Reply<R> = R extends Later<infer T> ? T : R

/** The methods that messages may name: all of an actor's but its hooks. */
export type MethodName<A extends object> = {
  [K in keyof A]-?: K extends keyof ActorHooks | symbol | number ? never : A[K] extends Method ? K : never
}[keyof A]

export type ArgumentsOf<M> = M extends (...args: infer P) => unknown ? Extract<Portable<P>, unknown[]> : never
type ReplyOf<M> = M extends (...args: never[]) => infer R ? Reply<Awaited<R>> : never

/** An actor's methods as questions, each with an answer or an error. */
export type Asks<A extends object> = { readonly [K in MethodName<A>]: (...args: ArgumentsOf<A[K]>) => Promise<ReplyOf<A[K]>> }

/** An actor's methods as messages without an answer. A method that throws when it was told, not asked, ends its actor. */
export type Tells<A extends object> = { readonly [K in MethodName<A>]: (...args: ArgumentsOf<A[K]>) => void }

/** Why an actor is no more. */
export type ExitReason =
  /** It was asked to stop and did. */
  | { readonly kind: 'stopped' }
  /** It threw where nobody could be told. */
  | { readonly kind: 'failed'; readonly error: Error }
  /** Its thread ended under it: `process.exit` in the worker, or killed after a deadline or from outside. */
  | { readonly kind: 'exited'; readonly code: number }

/** An exit reason in a few words, for messages. */
export function describeExit(reason: ExitReason): string {
  if (reason.kind === 'stopped') return 'it was stopped'
  if (reason.kind === 'failed') return `it failed with ${reason.error.name}: ${reason.error.message}`
  return `its thread ended with code ${reason.code}`
}
