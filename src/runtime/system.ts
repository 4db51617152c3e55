import { EventEmitter } from 'eventemitter3'
import type { ActorClass, ActorOf, OptionsOf } from './actor.js'
import { publishDiagnostics } from './diagnostics.js'
import type { RuntimeEvent, RuntimeEvents } from './events.js'
import { Family } from './family.js'
import type { Realm } from './realm.js'
import type { ActorRef } from './ref.js'
import type { Supervision } from './restart-policy.js'
import { Census, type ActorSnapshot } from './snapshot.js'
import type { LocalSpawnOptions, Offspring, Spawner, SpawnOptions } from './spawning.js'
import { threadRealm } from './thread-realm.js'

export type { SpawnOptions } from './spawning.js'

/** How an actor system treats its actors. */
export interface SystemOptions {
  /** How the actors spawned here are restarted, those whose `restart` says so: one for one, five times a minute, if left out. */
  readonly supervision?: Supervision
  /** Time and turns for tests. */
  readonly realm?: (publish: (event: RuntimeEvent) => void) => Realm
}

/** The root of a tree of actors. */
export class ActorSystem implements Spawner {
  /** What happens to the actors below, those in other threads included. */
  readonly events = new EventEmitter<RuntimeEvents>()
  /** The same, for an event of whatever name. */
  readonly #emitter = this.events as unknown as EventEmitter
  /** Resolves when the actors spawned here failed more often than is allowed: ACTOR_FAILED, with the last failure as its cause. */
  readonly failed: Promise<Error>
  readonly #children: Offspring
  readonly #census = new Census()
  #deadLetters = 0
  #resolveFailed!: (error: Error) => void

  constructor({ supervision = {}, realm = realRealm }: SystemOptions = {}) {
    this.failed = new Promise((resolve) => (this.#resolveFailed = resolve))
    this.#children = realm((event) => this.#publish(event)).raise('', (error) => this.#fail(error))
    this.#children.supervise(supervision)
  }

  /** Tells that reached nobody. */
  get deadLetters(): number {
    return this.#deadLetters
  }

  /** Every actor as it stands, those in other threads included; none of them is asked. */
  snapshot(): readonly ActorSnapshot[] {
    return this.#census.snapshot()
  }

  spawn<C extends ActorClass>(
    module: URL,
    className: string,
    options: OptionsOf<C>,
    how: SpawnOptions = {}
  ): Promise<ActorRef<ActorOf<C>>> {
    return this.#children.spawn<C>(module, className, options, how)
  }

  spawnHere<C extends ActorClass>(actorClass: C, options: OptionsOf<C>, how: LocalSpawnOptions = {}): Promise<ActorRef<ActorOf<C>>> {
    return this.#children.spawnHere(actorClass, options, how)
  }

  /** Stops every actor, the youngest first, each within the deadline or its own `shutdown`; there are no others afterwards. */
  stop(options: { readonly deadline?: number } = {}): Promise<void> {
    return this.#children.stop(options)
  }

  /** As `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #publish(event: RuntimeEvent): void {
    if (event.event === 'deadLetter') this.#deadLetters += event.count
    this.#census.note(event)
    publishDiagnostics(event)
    try {
      this.#emitter.emit(event.event, event)
    } catch (error) {
      // Uncaught, as a listener's throw is anywhere; but not in the middle of an actor's start or end.
      queueMicrotask(() => {
        throw error
      })
    }
  }

  #fail(error: Error): void {
    void this.stop().then(() => this.#resolveFailed(error))
  }
}

function realRealm(publish: (event: RuntimeEvent) => void): Realm {
  return threadRealm(new URL('./worker-entry.js', import.meta.url), publish, Family)
}
