import { REAL_CLOCK, type Clock } from './clock.js'
import type { Children } from './context.js'
import { ThreadDispatcher, type Dispatcher } from './dispatcher.js'
import type { RuntimeEvent } from './events.js'
import type { WorkerHost } from './worker-thread.js'

/** Everything that the actors of one thread share. Tests provide their own, with virtual time and a seeded order of turns. */
export interface Environment extends WorkerHost {
  readonly clock: Clock
  readonly dispatcher: Dispatcher
  /** Random numbers in [0, 1). */
  readonly random: () => number
  readonly publish: (event: RuntimeEvent) => void
  /** The module that a worker starts with; null if every actor lives in this thread. */
  readonly workerEntry: URL | null
  /** Makes the children of an actor; `fail` ends it when its children fail too often. */
  readonly createChildren: (parent: string, fail: (error: Error) => void) => Children
  /** Sees every message to an actor of this thread before the actor does. */
  readonly intercept?: Interceptor
}

/** What can happen to an intercepted message. Exactly one of these is called, once. */
export interface Interception {
  readonly deliver: () => void
  readonly drop: () => void
  /** Drops the message and ends its actor with this error. */
  readonly crash: (error: Error) => void
}

export type Interceptor = (actor: string, method: string, message: Interception) => void

export type ChildrenClass = new (parent: string, environment: Environment, fail: (error: Error) => void) => Children

/** The environment of a real thread. */
export function threadEnvironment(workerEntry: URL, publish: (event: RuntimeEvent) => void, childrenClass: ChildrenClass): Environment {
  const environment: Environment = {
    clock: REAL_CLOCK,
    dispatcher: new ThreadDispatcher(),
    random: Math.random,
    publish,
    workerEntry,
    sharedWorkers: new Map(),
    createChildren: (parent, fail) => new childrenClass(parent, environment, fail)
  }
  return environment
}
