import type { ArgumentsOf, MethodName, Tells } from './actor.js'
import type { Cancel } from './clock.js'
import type { ActorRef } from './ref.js'
import type { Supervision } from './restart-policy.js'
import type { Spawner } from './spawning.js'

/** An actor's methods as messages that the clock sends; each gives the function that calls it off. */
export type Timers<A extends object> = { readonly [K in MethodName<A>]: (...args: ArgumentsOf<A[K]>) => Cancel }

/** What an actor knows of itself, and what it can do besides handling messages. Made for it before it is. */
export interface ActorContext<A extends object> extends Spawner {
  readonly name: string
  /** Messages to itself: handled as turns of their own, after whatever has arrived meanwhile; they end with it. */
  readonly self: { readonly tell: Tells<A> }
  /** True as soon as it is to stop, also inside of a turn that lasts: another thread may have said so. */
  readonly stopRequested: boolean
  /** `after(100).method(...)`: handled as a turn of its own, once, after so many milliseconds. */
  after(milliseconds: number): Timers<A>
  /** `every(100).method(...)`: again and again; a beat is left out while the one before waits in the mailbox. */
  every(milliseconds: number): Timers<A>
  /** How its children are restarted: one for one, five times a minute, if it does not say. Before it spawns any. */
  supervise(supervision: Supervision): void
  /** Its `terminated` hook is called when the other is no more, restarts not counted. Gives the function that ends the watch. */
  watch(actor: ActorRef<object>): Cancel
  /** It stops in order after the message in hand. */
  stop(): void
}
