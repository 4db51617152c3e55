import type { ActorClass, ActorOf, OptionsOf } from './actor.js'
import type { MailboxOptions } from './gate.js'
import type { ActorRef } from './ref.js'
import type { RestartType, Supervision } from './restart-policy.js'

/** How an actor is kept, in whatever thread it lives. */
export interface LocalSpawnOptions {
  /** For messages and thread lists, below its parent's name; the class's name and a number if left out. */
  readonly name?: string
  /** `temporary` if left out: an actor that has ended stays ended. */
  readonly restart?: RestartType
  /** Milliseconds that it has to stop by itself; 5,000 if left out. */
  readonly shutdown?: number
  readonly mailbox?: MailboxOptions
}

export interface SpawnOptions extends LocalSpawnOptions {
  /** Milliseconds until a spawn gives up; a minute if left out. */
  readonly deadline?: number
  /** The worker thread that it shares with all that name it too; one of its own if left out. What ends the thread ends them all. */
  readonly worker?: string
  /** Its thread counts as dead when it has not turned its event loop for `silence` milliseconds; never if left out. */
  readonly heartbeat?: { readonly silence: number }
  /** Called in this thread when the actor is to stop: breaks off what it does in native code. */
  readonly cancel?: () => void
}

/** Makes actors. */
export interface Spawner {
  /**
   * An actor in a worker. `C` is the class's type: `spawn<typeof Learner>(url, 'Learner', options)`. The options are cloned to the
   * worker. Rejects with what the module, the constructor or the `started` hook threw.
   */
  spawn<C extends ActorClass>(module: URL, className: string, options: OptionsOf<C>, how?: SpawnOptions): Promise<ActorRef<ActorOf<C>>>
  /** An actor in the caller's thread. */
  spawnHere<C extends ActorClass>(actorClass: C, options: OptionsOf<C>, how?: LocalSpawnOptions): Promise<ActorRef<ActorOf<C>>>
}

/** The children of an actor or of the system, in the order in which they were spawned. */
export interface Offspring extends Spawner {
  /** How they are restarted. Before the first of them. */
  supervise(supervision: Supervision): void
  /** Stops them, the youngest first, and takes no more. */
  stop(options?: { readonly deadline?: number }): Promise<void>
}
