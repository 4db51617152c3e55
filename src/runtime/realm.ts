import type { Clock } from './clock.js'
import type { RuntimeEvent } from './events.js'
import type { Offspring } from './spawning.js'
import type { WorkerThread } from './worker-thread.js'

/** What a thread lends to the actors in it: time, turns, chance, and whom to tell. Tests lend their own. */
export interface Realm {
  readonly clock: Clock
  /** Runs `turn` soon, never inside of the call. */
  readonly dispatch: (turn: () => void) => void
  /** As `dispatch`, but after what has arrived from other threads meanwhile. */
  readonly defer: (turn: () => void) => void
  /** How many messages a mailbox may handle in one turn of its own. */
  readonly burst: number
  /** In [0, 1). */
  readonly random: () => number
  readonly publish: (event: RuntimeEvent) => void
  /** The module that a worker begins with; null where every actor lives in this thread. */
  readonly entry: URL | null
  /** Worker threads that several actors share, by name. */
  readonly shared: Map<string, WorkerThread>
  /** The children of an actor; `fail` ends it when they fail too often. */
  readonly raise: (parent: string, fail: (error: Error) => void) => Offspring
  /** Comes between a message and the actor in this thread that it is for. */
  readonly intercept?: Interceptor
}

/** What may happen to a message on its way. One of them, once. */
export interface Passage {
  readonly deliver: () => void
  readonly drop: () => void
  /** Ends the actor with this error in the message's place. */
  readonly crash: (error: Error) => void
}

export type Interceptor = (actor: string, method: string, passage: Passage) => void
