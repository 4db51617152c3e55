import { ArbalestError } from '../errors.js'
import type { ActorClass, ActorOf, ExitReason, OptionsOf } from './actor.js'
import { Child, type ChildSpec } from './child.js'
import { asError } from './errors-across-threads.js'
import { goneError } from './gone.js'
import { loadClass } from './load-class.js'
import { LocalLife } from './local-life.js'
import type { Realm } from './realm.js'
import type { ActorRef } from './ref.js'
import {
  affected,
  checkSupervision,
  decide,
  DEFAULT_SUPERVISION,
  type Backoff,
  type Failure,
  type Intensity,
  type Strategy,
  type Supervision
} from './restart-policy.js'
import type { LocalSpawnOptions, Offspring, SpawnOptions } from './spawning.js'
import { WorkerLife } from './worker-life.js'

const DEFAULT_START_DEADLINE = 60_000
const DEFAULT_SHUTDOWN = 5_000

/** The children of one actor, or of the system: starts them in order, restarts those that fail, stops them in reverse. */
export class Family implements Offspring {
  readonly #parent: string
  readonly #realm: Realm
  readonly #fail: (error: Error) => void
  #strategy: Strategy = DEFAULT_SUPERVISION.strategy
  #intensity: Intensity = DEFAULT_SUPERVISION.intensity
  #backoff: Backoff = DEFAULT_SUPERVISION.backoff
  #children: Child[] = []
  #failures: readonly Failure[] = []
  /** Restarts of several children follow one another. */
  #recoveries: Promise<void> = Promise.resolve()
  #spawned = 0
  #closed = false

  /** `parent` is the name below which the children stand; `fail` is called once, when they fail more often than is allowed. */
  constructor(parent: string, realm: Realm, fail: (error: Error) => void) {
    this.#parent = parent
    this.#realm = realm
    this.#fail = fail
  }

  get children(): readonly Child[] {
    return this.#children
  }

  supervise(supervision: Supervision): void {
    checkSupervision(supervision)
    const { strategy, intensity, backoff } = supervision
    if (strategy) this.#strategy = strategy
    if (intensity) this.#intensity = intensity
    if (backoff) this.#backoff = { ...this.#backoff, ...backoff }
  }

  spawn<C extends ActorClass>(
    module: URL,
    className: string,
    options: OptionsOf<C>,
    how: SpawnOptions = {}
  ): Promise<ActorRef<ActorOf<C>>> {
    const { entry } = this.#realm
    if (!entry) return this.#add(className, how, () => loadClass(module.href, className), options)
    const name = this.#nameOf(className, how)
    const { worker, heartbeat, cancel, shutdown = DEFAULT_SHUTDOWN } = how
    const begin: ChildSpec['begin'] = (owner, window, restarted, signal) => {
      const start = {
        name,
        module: module.href,
        className,
        options,
        restarted,
        window,
        shutdown,
        worker,
        silence: heartbeat?.silence,
        cancel
      }
      return WorkerLife.start(start, owner, this.#realm, entry, signal)
    }
    return this.#begin({ ...specOf(name, how), begin })
  }

  spawnHere<C extends ActorClass>(actorClass: C, options: OptionsOf<C>, how: LocalSpawnOptions = {}): Promise<ActorRef<ActorOf<C>>> {
    return this.#add(actorClass.name, how, () => actorClass, options)
  }

  async stop({ deadline }: { readonly deadline?: number } = {}): Promise<void> {
    this.#closed = true
    for (const child of this.#children.toReversed()) {
      const reason = await child.stop(deadline)
      this.#release(child, reason)
    }
    await this.#recoveries
  }

  #add<A extends object>(
    className: string,
    how: SpawnOptions,
    load: () => ActorClass | Promise<ActorClass>,
    options: unknown
  ): Promise<ActorRef<A>> {
    const name = this.#nameOf(className, how)
    const spec = specOf(name, how)
    const { shutdown } = spec
    const begin: ChildSpec['begin'] = (owner, _window, restarted, signal) =>
      LocalLife.start({ name, load, options, restarted, shutdown }, owner, this.#realm, signal)
    return this.#begin({ ...spec, begin })
  }

  async #begin<A extends object>(spec: ChildSpec): Promise<ActorRef<A>> {
    if (this.#closed) {
      const message = `${spec.name}: it cannot be spawned, ${this.#parent || 'the system'} is stopped; spawn it before`
      throw new ArbalestError('INVALID_STATE', message, { data: { actor: spec.name } })
    }
    const child = new Child(spec, this.#realm, (dead, reason) => this.#died(dead, reason))
    this.#children.push(child)
    try {
      await child.start()
    } catch (error) {
      this.#release(child, { kind: 'failed', error: asError(error) })
      throw error
    }
    if (child.leaving) {
      await child.exited
      throw goneError(spec.name, 'started', 'it was stopped while it started')
    }
    return child.ref as unknown as ActorRef<A>
  }

  #died(child: Child, reason: ExitReason): void {
    if (child.leaving || this.#closed) this.#release(child, reason)
    else if (this.#strategy === 'oneForOne') void this.#recover(child, reason)
    else this.#recoveries = this.#recoveries.then(() => this.#recover(child, reason))
  }

  async #recover(child: Child, reason: ExitReason): Promise<void> {
    if (child.leaving || this.#closed) return this.#release(child, reason)
    // A restart of several that was under way has started it again.
    if (child.alive) return
    const failure = { at: this.#realm.clock.now(), reason }
    const decision = decide(child.spec.restart, failure, this.#failures, this.#intensity, this.#backoff, this.#realm.random())
    if (decision.kind === 'leave') return this.#release(child, reason)
    this.#failures = decision.failures
    if (decision.kind === 'escalate') return this.#escalate(child, reason)
    this.#realm.publish({ event: 'restarting', actor: child.spec.name, reason, delay: decision.delay })
    const group = affected(this.#strategy, [...this.#children], child)
    for (const member of group.toReversed()) if (member !== child) await member.halt()
    await child.pause(decision.delay)
    for (const member of group) {
      const failed = await this.#revive(member, child, reason)
      if (failed) return this.#recover(member, failed)
    }
  }

  /** The reason why it did not start. */
  async #revive(member: Child, cause: Child, reason: ExitReason): Promise<ExitReason | undefined> {
    // Who is only just coming up is left to whoever spawns it: it has no life yet from which to be started again.
    if (member.gone || member.alive || member.starting) return undefined
    const stays = !this.#closed && !member.leaving && (member === cause || member.spec.restart !== 'temporary')
    if (!stays) {
      this.#release(member, { kind: 'stopped' })
      return undefined
    }
    try {
      await member.start(reason)
      return undefined
    } catch (error) {
      return { kind: 'failed', error: asError(error) }
    }
  }

  /** The parent's end stops the other children. */
  #escalate(child: Child, reason: ExitReason): void {
    this.#release(child, reason)
    const { restarts, within } = this.#intensity
    const [first, last] = [errorOf(child, this.#failures[0]!.reason), errorOf(child, reason)]
    const message =
      `${child.spec.name}: more than ${restarts} failures within ${within} ms; the first was ${first.message}; ` +
      `the last was ${last.message}; mend their cause or allow more restarts`
    const error = new ArbalestError('ACTOR_FAILED', message, { cause: last, data: { actor: child.spec.name, restarts, within, first } })
    this.#closed = true
    this.#realm.publish({ event: 'escalated', actor: this.#parent, error })
    this.#fail(error)
  }

  #release(child: Child, reason: ExitReason): void {
    child.finish(reason)
    this.#children = this.#children.filter((other) => other !== child)
  }

  #nameOf(className: string, { name }: LocalSpawnOptions): string {
    const own = name ?? `${className}-${++this.#spawned}`
    return this.#parent === '' ? own : `${this.#parent}/${own}`
  }
}

function specOf(name: string, how: SpawnOptions): Omit<ChildSpec, 'begin'> {
  const { restart = 'temporary', shutdown = DEFAULT_SHUTDOWN, deadline = DEFAULT_START_DEADLINE, mailbox = {} } = how
  return { name, restart, shutdown, startDeadline: deadline, mailbox }
}

function errorOf(child: Child, reason: ExitReason): Error {
  if (reason.kind === 'failed') return reason.error
  return goneError(child.spec.name, 'life', reason.kind === 'stopped' ? 'it stopped' : `its thread ended with code ${reason.code}`)
}
