/**
 * Actors under test: one thread, turns in an order that a seed decides, virtual time, faults on demand.
 *
 * @module arbalest/runtime/testkit
 */
import { checkOptions } from '../../errors.js'
import { methodProxy, type ActorRef } from '../actor-ref.js'
import { ChildSupervisor } from '../child-supervisor.js'
import { VirtualClock } from '../clock.js'
import type { Environment } from '../environment.js'
import type { RuntimeEvent } from '../events.js'
import type { SupervisionPolicy } from '../supervision-policy.js'
import { ActorSystem } from '../system.js'
import { FaultInjector } from './fault-injector.js'
import { seeded, SeededDispatcher } from './seeded-dispatcher.js'

export type { VirtualClock } from '../clock.js'
export type { Fault, FaultInjector, FaultRule } from './fault-injector.js'

/** Options of a TestKit. */
export interface TestKitOptions {
  /** Decides the order of turns and every other random choice; 1 if omitted. */
  readonly seed?: number
  readonly supervision?: SupervisionPolicy
}

/** An event and its virtual time, in milliseconds. */
export type TimedEvent = RuntimeEvent & { readonly at: number }

/** A message that a probe has received. */
export interface Received {
  readonly method: string
  readonly args: readonly unknown[]
}

/** The answers of a probe, by method. */
export type ProbeAnswers = Readonly<Record<string, (...args: never[]) => unknown>>

/**
 * An actor system for tests. It runs the same actor classes in one thread, `spawn` included; a seed decides the order of their turns, and
 * their time is virtual. Nothing happens until the test calls `settle()`, `advance(ms)`, `until(promise)` or `run(promise)`.
 */
export class TestKit {
  readonly system: ActorSystem
  readonly clock = new VirtualClock()
  readonly faults = new FaultInjector(this.clock)
  /** Everything that has happened to actors so far. */
  readonly events: TimedEvent[] = []
  readonly #dispatcher: SeededDispatcher

  constructor(options: TestKitOptions = {}) {
    checkOptions(options, ['seed', 'supervision'] satisfies (keyof TestKitOptions)[])
    const { seed = 1, supervision = {} } = options
    const random = seeded(seed)
    this.#dispatcher = new SeededDispatcher(this.clock, random)
    const environment = (publish: (event: RuntimeEvent) => void) => this.#environment(random, publish)
    this.system = new ActorSystem({ supervision, environment })
  }

  /** Runs turns until no actor has one; time stands still. */
  settle(): Promise<void> {
    return this.#dispatcher.settle()
  }

  /** Advances time by this many milliseconds and runs all that falls due meanwhile. */
  advance(milliseconds: number): Promise<void> {
    return this.#dispatcher.advance(milliseconds)
  }

  /** Runs turns until the promise settles, without advancing time. */
  until<T>(promise: Promise<T>): Promise<T> {
    return this.#dispatcher.until(promise)
  }

  /** Runs turns until the promise settles, and advances time whenever no actor has a turn. */
  run<T>(promise: Promise<T>): Promise<T> {
    return this.#dispatcher.run(promise)
  }

  /** An actor that stands in for an `A`: it records the messages that it receives and gives these answers. */
  async probe<A extends object>(
    answers: ProbeAnswers = {},
    name = 'probe'
  ): Promise<{ readonly ref: ActorRef<A>; readonly received: readonly Received[] }> {
    const options: ProbeOptions = { received: [], answers }
    const ref = await this.until(this.system.spawnLocal(Probe, options, { name }))
    return { ref: ref as unknown as ActorRef<A>, received: options.received }
  }

  #environment(random: () => number, publish: (event: RuntimeEvent) => void): Environment {
    const environment: Environment = {
      clock: this.clock,
      dispatcher: this.#dispatcher,
      random,
      publish: (event) => {
        this.events.push({ ...event, at: this.clock.now() })
        publish(event)
      },
      workerEntry: null,
      sharedWorkers: new Map(),
      createChildren: (parent, fail) => new ChildSupervisor(parent, environment, fail),
      intercept: this.faults.intercept
    }
    return environment
  }
}

interface ProbeOptions {
  readonly received: Received[]
  readonly answers: ProbeAnswers
}

const HOOKS = ['started', 'restarted', 'terminated', 'stopping']

/** Answers a message without an answer of its own with undefined. */
class Probe {
  constructor({ received, answers }: ProbeOptions) {
    return methodProxy((method, args) => {
      if (HOOKS.includes(method)) return undefined
      received.push({ method, args })
      return answers[method]?.(...(args as never[]))
    })
  }
}
