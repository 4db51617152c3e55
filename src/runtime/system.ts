import type { ActorClass, ActorOf, OptionsOf } from './actor.js'
import { LocalLink } from './local-link.js'
import { PendingAsks } from './pending-asks.js'
import { ActorRef } from './ref.js'
import { WorkerLink } from './worker-link.js'

export interface SpawnOptions {
  /** For messages and thread lists; the class's name and a number if left out. */
  readonly name?: string
  /** Milliseconds until a spawn gives up. */
  readonly deadline?: number
}

const DEFAULT_START_DEADLINE = 60_000

/** The actors of one run: spawned here, stopped here in the opposite order. */
export class ActorSystem {
  readonly #living = new Set<ActorRef<object>>()
  #spawned = 0

  /**
   * An actor in a worker of its own. `C` is the class's type: `spawn<typeof Learner>(url, 'Learner', options)`. The options are cloned
   * to the worker. Rejects with what the module, the constructor or the `started` hook threw.
   */
  async spawn<C extends ActorClass>(
    module: URL,
    className: string,
    options: OptionsOf<C>,
    how: SpawnOptions = {}
  ): Promise<ActorRef<ActorOf<C>>> {
    const { name = this.#nextName(className), deadline = DEFAULT_START_DEADLINE } = how
    const pending = new PendingAsks(name)
    const link = await WorkerLink.start({ name, module: module.href, className, options }, pending, deadline)
    return this.#adopt(new ActorRef<ActorOf<C>>(name, link, pending))
  }

  /** An actor in the caller's thread. */
  async spawnHere<C extends ActorClass>(actorClass: C, options: OptionsOf<C>, how: SpawnOptions = {}): Promise<ActorRef<ActorOf<C>>> {
    const { name = this.#nextName(actorClass.name) } = how
    const pending = new PendingAsks(name)
    const link = await LocalLink.start(name, actorClass, options, pending)
    return this.#adopt(new ActorRef<ActorOf<C>>(name, link, pending))
  }

  /** Stops every actor, the youngest first. */
  async stop(options: { deadline?: number } = {}): Promise<void> {
    for (const ref of [...this.#living].toReversed()) await ref.stop(options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #nextName(className: string): string {
    return `${className}-${++this.#spawned}`
  }

  #adopt<A extends object>(ref: ActorRef<A>): ActorRef<A> {
    this.#living.add(ref)
    void ref.exited.then(() => this.#living.delete(ref))
    return ref
  }
}
