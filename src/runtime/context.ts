import type { ActorClass, ActorOf, ArgumentsOf, MethodName, OptionsOf, Tells } from './actor.js'
import type { ActorRef } from './actor-ref.js'
import type { Cancel } from './clock.js'
import type { MailboxOptions } from './flow-control.js'
import type { RestartType, SupervisionPolicy } from './supervision-policy.js'

/** How an actor is named, restarted and stopped, in its own thread or the caller's. */
export interface LocalSpawnOptions {
  /**
   * For messages, events and thread lists, below its parent's name; the class's name and a number if omitted. Where another child of the parent has it, `-2` or the next
   * number is added: the ref has the name in full.
   */
  readonly name?: string
  /** `temporary` if omitted: an actor that has ended is not restarted. */
  readonly restart?: RestartType
  /** Milliseconds that it may take to stop; 5,000 if omitted. */
  readonly shutdown?: number
  readonly mailbox?: MailboxOptions
}

/** How an actor in a worker thread is spawned. */
export interface SpawnOptions extends LocalSpawnOptions {
  /** Milliseconds after which a spawn fails; a minute if omitted. */
  readonly deadline?: number
  /** The worker thread, shared by all actors that name it; a thread of its own if omitted. When the thread ends, all its actors end. */
  readonly worker?: string
  /** Declares the thread dead after `timeout` milliseconds in which its event loop has not turned; never if omitted. */
  readonly heartbeat?: { readonly timeout: number }
  /** Called in the spawning thread when the actor is to stop: cancels a call of native code. */
  readonly cancel?: () => void
}

/** Spawns actors. */
export interface Spawner {
  /**
   * Spawns an actor in a worker. `module` is JavaScript or TypeScript; `C` is the class's type: `spawn<typeof Counter>(url, 'Counter',
   * options)`. The options are cloned to the worker; `transfer` moves objects in them. Rejects with any error of the module, the constructor or the `started` hook.
   */
  spawn<C extends ActorClass>(module: URL, className: string, options: OptionsOf<C>, how?: SpawnOptions): Promise<ActorRef<ActorOf<C>>>
  /** Spawns an actor in the caller's thread. */
  spawnLocal<C extends ActorClass>(actorClass: C, options: OptionsOf<C>, how?: LocalSpawnOptions): Promise<ActorRef<ActorOf<C>>>
}

/** The children of an actor or of the system, in the order in which they were spawned. */
export interface Children extends Spawner {
  /** Sets how children are restarted; called before the first is spawned. */
  supervise(policy: SupervisionPolicy): void
  /** Stops the children, the youngest first, and refuses further spawns. */
  stop(options?: { readonly deadline?: number }): Promise<void>
}

/** An actor's methods as messages that a timer sends; each returns the function that cancels the timer. */
export type ScheduledTells<A extends object> = { readonly [K in MethodName<A>]: (...args: ArgumentsOf<A[K]>) => Cancel }

/** What the runtime offers to an actor beside its messages; the second argument of its constructor. */
export interface ActorContext<A extends object> extends Spawner {
  readonly name: string
  /** Messages to itself: each is handled in a turn of its own, after the messages that have already arrived. */
  readonly self: { readonly tell: Tells<A> }
  /** Whether the actor is to stop. Becomes true also during a long turn, because another thread can set it. */
  readonly stopRequested: boolean
  /** `after(100).method(...)`: a message to itself, once, after this time. */
  after(milliseconds: number): ScheduledTells<A>
  /** `every(100).method(...)`: a message to itself, again and again; skipped while the previous one still waits in the mailbox. */
  every(milliseconds: number): ScheduledTells<A>
  /** Sets how its children are restarted: `oneForOne`, five times a minute, if never called. Call it before the first spawn. */
  supervise(policy: SupervisionPolicy): void
  /** Calls the `terminated` hook when the other actor has ended; a restart is no end. Returns the function that ends the watch. */
  watch(actor: ActorRef<object>): Cancel
  /** Stops this actor after the current message. */
  stop(): void
}
