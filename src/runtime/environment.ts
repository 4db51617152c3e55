import { REAL_CLOCK, type Clock } from './clock.js'
import type { Children } from './context.js'
import type { RuntimeEvent } from './events.js'
import { microtask } from './promises.js'
import type { WorkerHost } from './worker-thread.js'

/** Runs the turns of one thread's actors. */
export interface Dispatcher {
  /** Runs `turn`, which must not throw, soon and never inside the call. */
  dispatch(turn: () => void): void
  /** As `dispatch`, but after the messages that have arrived from other threads meanwhile. */
  defer(turn: () => void): void
  /** The most messages that a mailbox handles in a row before other turns run. */
  readonly throughput: number
}

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

/** Turns in a row after which the event loop, with its timers and ports, runs once. */
const TURNS_PER_LOOP = 1024

class ThreadDispatcher implements Dispatcher {
  readonly throughput = TURNS_PER_LOOP
  #turns = 0

  dispatch(turn: () => void): void {
    if (++this.#turns % TURNS_PER_LOOP === 0) setImmediate(turn)
    else microtask(turn)
  }

  defer(turn: () => void): void {
    setImmediate(turn)
  }
}
