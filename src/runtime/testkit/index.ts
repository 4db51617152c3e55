/**
 * Actors under test: one thread, turns in an order that a seed decides, virtual time, faults on demand.
 *
 * @module arbalest/runtime/testkit
 */
import { VirtualClock } from '../clock.js'
import type { RuntimeEvent } from '../events.js'
import { Family } from '../family.js'
import type { Realm } from '../realm.js'
import type { ActorRef } from '../ref.js'
import type { Supervision } from '../restart-policy.js'
import { ActorSystem } from '../system.js'
import { FaultInjector } from './fault-injector.js'
import { Probe, type ProbeLog, type Received } from './probe.js'
import { Scheduler } from './scheduler.js'
import { seeded } from './seeded.js'

export type { VirtualClock } from '../clock.js'
export type { Fault, FaultInjector, FaultRule } from './fault-injector.js'
export type { Received } from './probe.js'

/** What a TestKit begins with. */
export interface TestKitOptions {
  /** Decides the order of turns and every other chance. */
  readonly seed?: number
  readonly supervision?: Supervision
}

/** An event and the virtual moment of it, in milliseconds. */
export type TimedEvent = RuntimeEvent & { readonly at: number }

/**
 * An actor system for tests: the same actor classes in one thread, `spawn` included, their turns in an order that the seed decides, their
 * time virtual. Nothing happens until the test lets it: `await kit.settle()`, `kit.advance(ms)`, `kit.run(promise)`.
 */
export class TestKit {
  readonly system: ActorSystem
  readonly clock = new VirtualClock()
  readonly faults = new FaultInjector(this.clock)
  /** All that has happened to actors so far. */
  readonly events: TimedEvent[] = []
  readonly #scheduler: Scheduler

  constructor({ seed = 1, supervision = {} }: TestKitOptions = {}) {
    const random = seeded(seed)
    this.#scheduler = new Scheduler(this.clock, random)
    const realm = (publish: (event: RuntimeEvent) => void) => this.#realm(random, publish)
    this.system = new ActorSystem({ supervision, realm })
  }

  /** Until nobody has a turn to take; time stands still. */
  settle(): Promise<void> {
    return this.#scheduler.settle()
  }

  /** Moves time on by so many milliseconds, with all that falls due meanwhile. */
  advance(milliseconds: number): Promise<void> {
    return this.#scheduler.advance(milliseconds)
  }

  /** Until the promise settles, without moving time. */
  until<T>(promise: Promise<T>): Promise<T> {
    return this.#scheduler.until(promise)
  }

  /** Until the promise settles, moving time on whenever nobody has a turn to take. */
  run<T>(promise: Promise<T>): Promise<T> {
    return this.#scheduler.run(promise)
  }

  /** An actor that takes the place of an `A`: it writes down what it receives and gives these answers. */
  async probe<A extends object>(
    answers: ProbeLog['answers'] = {},
    name = 'probe'
  ): Promise<{ readonly ref: ActorRef<A>; readonly received: readonly Received[] }> {
    const log: ProbeLog = { received: [], answers }
    const ref = await this.until(this.system.spawnHere(Probe, log, { name }))
    return { ref: ref as unknown as ActorRef<A>, received: log.received }
  }

  #realm(random: () => number, publish: (event: RuntimeEvent) => void): Realm {
    const add = (turn: () => void) => this.#scheduler.add(turn)
    const realm: Realm = {
      clock: this.clock,
      dispatch: add,
      defer: add,
      burst: 1,
      random,
      publish: (event) => {
        this.events.push({ ...event, at: this.clock.now() })
        publish(event)
      },
      entry: null,
      shared: new Map(),
      raise: (parent, fail) => new Family(parent, realm, fail),
      intercept: this.faults.intercept
    }
    return realm
  }
}
