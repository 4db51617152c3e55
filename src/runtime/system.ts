import { channel } from 'node:diagnostics_channel'
import { EventEmitter } from 'eventemitter3'
import { checkOptions } from '../errors.js'
import type { ActorClass, ActorOf, OptionsOf } from './actor.js'
import { checkStop, type ActorRef } from './actor-ref.js'
import { ChildSupervisor } from './child-supervisor.js'
import type { Children, LocalSpawnOptions, Spawner, SpawnOptions } from './context.js'
import { threadEnvironment, type Environment } from './environment.js'
import type { RuntimeEvent, RuntimeEvents } from './events.js'
import { ActorRegistry, type ActorSnapshot } from './snapshot.js'
import type { SupervisionPolicy } from './supervision-policy.js'

/** Options of an ActorSystem. */
export interface SystemOptions {
  /** How the actors spawned here are restarted, if their `restart` asks for it: `oneForOne`, five times a minute, if omitted. */
  readonly supervision?: SupervisionPolicy
  /** Virtual time and seeded turns, for tests. */
  readonly environment?: (publish: (event: RuntimeEvent) => void) => Environment
}

/** The root of a tree of actors. */
export class ActorSystem implements Spawner {
  /** What happens to all actors of the system, in other threads too. */
  readonly events = new EventEmitter<RuntimeEvents>()
  /** The same emitter, typed for an event of any name. */
  readonly #emitter = this.events as unknown as EventEmitter
  /** Resolves when the actors spawned here have failed too often: ACTOR_FAILED, with the last failure as its cause. */
  readonly failed: Promise<Error>
  readonly #children: Children
  readonly #registry = new ActorRegistry()
  #deadLetters = 0
  #resolveFailed!: (error: Error) => void

  constructor(options: SystemOptions = {}) {
    checkOptions(options, ['supervision', 'environment'] satisfies (keyof SystemOptions)[])
    const { supervision = {}, environment = realEnvironment } = options
    this.failed = new Promise((resolve) => (this.#resolveFailed = resolve))
    this.#children = environment((event) => this.#publish(event)).createChildren('', (error) => this.#fail(error))
    this.#children.supervise(supervision)
  }

  /** How many tells were lost. */
  get deadLetters(): number {
    return this.#deadLetters
  }

  /** The state of every actor, in other threads too. No actor is interrupted. */
  snapshot(): readonly ActorSnapshot[] {
    return this.#registry.snapshot()
  }

  spawn<C extends ActorClass>(
    module: URL,
    className: string,
    options: OptionsOf<C>,
    how: SpawnOptions = {}
  ): Promise<ActorRef<ActorOf<C>>> {
    return this.#children.spawn<C>(module, className, options, how)
  }

  spawnLocal<C extends ActorClass>(actorClass: C, options: OptionsOf<C>, how: LocalSpawnOptions = {}): Promise<ActorRef<ActorOf<C>>> {
    return this.#children.spawnLocal(actorClass, options, how)
  }

  /** Stops every actor, the youngest first, each within the deadline or its own `shutdown`, and refuses further spawns. Rejects with INVALID_OPTION for a deadline that is no number. */
  async stop(options: { readonly deadline?: number } = {}): Promise<void> {
    checkStop(options)
    return this.#children.stop(options)
  }

  /** As `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #publish(event: RuntimeEvent): void {
    if (event.event === 'deadLetter') this.#deadLetters += event.count
    this.#registry.update(event)
    publishDiagnostics(event)
    try {
      this.#emitter.emit(event.event, event)
    } catch (error) {
      // Reported as an uncaught exception, as for any emitter, but after the current start or end of an actor.
      queueMicrotask(() => {
        throw error
      })
    }
  }

  #fail(error: Error): void {
    void this.stop().then(() => this.#resolveFailed(error))
  }
}

function realEnvironment(publish: (event: RuntimeEvent) => void): Environment {
  return threadEnvironment(new URL('./worker-start.js', import.meta.url), publish, ChildSupervisor)
}

/** `arbalest:actor:started` and so on: the names of the channels in node:diagnostics_channel. */
export type DiagnosticsName = `arbalest:actor:${RuntimeEvent['event']}`

/**
 * Publishes the event to Node's diagnostics channels of this thread; nearly free without subscribers. If a subscriber throws, Node reports
 * an uncaught exception.
 */
function publishDiagnostics(event: RuntimeEvent): void {
  const diagnostics = CHANNELS[event.event]
  if (diagnostics.hasSubscribers) diagnostics.publish(event)
}

const channelOf = (event: RuntimeEvent['event']) => channel(`arbalest:actor:${event}` satisfies DiagnosticsName)

/** Held here, because a channel that is garbage-collected loses its subscribers. */
const CHANNELS: Readonly<Record<RuntimeEvent['event'], ReturnType<typeof channelOf>>> = {
  started: channelOf('started'),
  restarting: channelOf('restarting'),
  exited: channelOf('exited'),
  escalated: channelOf('escalated'),
  deadLetter: channelOf('deadLetter'),
  unhealthy: channelOf('unhealthy')
}
