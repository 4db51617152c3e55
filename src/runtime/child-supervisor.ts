import { ArbalestError } from '../errors.js'
import { loadActorClass, type ActorClass, type ActorOf, type OptionsOf } from './actor.js'
import type { ActorRef } from './actor-ref.js'
import { Child, type ChildSpec } from './child.js'
import type { Children, LocalSpawnOptions, SpawnOptions } from './context.js'
import type { Environment } from './environment.js'
import { asError } from './errors-across-threads.js'
import { actorGone, type ExitReason } from './exit-reason.js'
import { LocalIncarnation } from './local-incarnation.js'
import { checkActorClass, checkClassName, checkModule, checkSpawn, checkSpawnLocal } from './argument-checks.js'
import {
  checkPolicy,
  decide,
  DEFAULT_POLICY,
  restartedTogether,
  type Failure,
  type RestartBackoff,
  type RestartIntensity,
  type RestartStrategy,
  type SupervisionPolicy
} from './supervision-policy.js'
import { messageAsItIs } from './wire-protocol.js'
import { WorkerIncarnation } from './worker-incarnation.js'

const DEFAULT_START_DEADLINE = 60_000
const DEFAULT_SHUTDOWN = 5_000

/** Supervises the children of one actor or of the system: starts them in order, restarts those that fail, stops them in reverse order. */
export class ChildSupervisor implements Children {
  readonly #parent: string
  readonly #environment: Environment
  readonly #fail: (error: Error) => void
  #strategy: RestartStrategy = DEFAULT_POLICY.strategy
  #intensity: RestartIntensity = DEFAULT_POLICY.intensity
  #backoff: RestartBackoff = DEFAULT_POLICY.backoff
  /** By name, in the order in which they were spawned. */
  readonly #children = new Map<string, Child>()
  #failures: readonly Failure[] = []
  /** With a strategy that restarts several children, recoveries run one after another. */
  #recoveries: Promise<void> = Promise.resolve()
  #spawned = 0
  #closed = false

  /** `parent` is the prefix of the children's names; `fail` is called once, when they fail more often than the intensity allows. */
  constructor(parent: string, environment: Environment, fail: (error: Error) => void) {
    this.#parent = parent
    this.#environment = environment
    this.#fail = fail
  }

  supervise(policy: SupervisionPolicy): void {
    checkPolicy(policy)
    const { strategy, intensity, backoff } = policy
    if (strategy) this.#strategy = strategy
    if (intensity) this.#intensity = intensity
    if (backoff) this.#backoff = { ...this.#backoff, ...backoff }
  }

  async spawn<C extends ActorClass>(
    module: URL,
    className: string,
    options: OptionsOf<C>,
    how: SpawnOptions = {}
  ): Promise<ActorRef<ActorOf<C>>> {
    checkModule(module)
    checkClassName(className)
    checkSpawn(how)
    const { workerEntry } = this.#environment
    if (!workerEntry) return this.#addLocal(className, how, () => loadActorClass(module.href, className), options)
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
        heartbeatTimeout: heartbeat?.timeout,
        cancel
      }
      return WorkerIncarnation.start(start, owner, this.#environment, workerEntry, signal)
    }
    return this.#begin({ ...specOf(name, how), begin, kept: messageAsItIs })
  }

  async spawnLocal<C extends ActorClass>(actorClass: C, options: OptionsOf<C>, how: LocalSpawnOptions = {}): Promise<ActorRef<ActorOf<C>>> {
    checkActorClass(actorClass)
    checkSpawnLocal(how)
    return this.#addLocal(actorClass.name, how, () => actorClass, options)
  }

  async stop({ deadline }: { readonly deadline?: number } = {}): Promise<void> {
    this.#closed = true
    // Children that have not started are stopped at the same time, so that their deadlines are not added up.
    for (const child of this.#children.values()) if (child.starting) void child.stop(deadline)
    for (const child of [...this.#children.values()].reverse()) {
      const reason = await child.stop(deadline)
      this.#release(child, reason)
    }
    await this.#recoveries
  }

  #addLocal<A extends object>(
    className: string,
    how: SpawnOptions,
    load: () => ActorClass | Promise<ActorClass>,
    options: unknown
  ): Promise<ActorRef<A>> {
    const name = this.#nameOf(className, how)
    const spec = specOf(name, how)
    const { shutdown } = spec
    const begin: ChildSpec['begin'] = (owner, _window, restarted, signal) =>
      LocalIncarnation.start({ name, load, options, restarted, shutdown }, owner, this.#environment, signal)
    return this.#begin({ ...spec, begin, kept: (message) => message })
  }

  async #begin<A extends object>(spec: ChildSpec): Promise<ActorRef<A>> {
    if (this.#closed) {
      const message = `${spec.name}: it cannot be spawned, ${this.#parent || 'the system'} is stopped; spawn it before`
      throw new ArbalestError('INVALID_STATE', message, { data: { actor: spec.name } })
    }
    const child = new Child(spec, this.#environment, (ended, reason) => this.#exited(ended, reason))
    this.#children.set(spec.name, child)
    try {
      await child.start()
    } catch (error) {
      this.#release(child, { kind: 'failed', error: asError(error) })
      throw error
    }
    if (child.leaving) {
      await child.exited
      throw actorGone(spec.name, 'started', 'it was stopped while it started')
    }
    return child.ref as unknown as ActorRef<A>
  }

  #exited(child: Child, reason: ExitReason): void {
    if (child.leaving || this.#closed) this.#release(child, reason)
    else if (this.#strategy === 'oneForOne') void this.#recover(child, reason)
    else this.#recoveries = this.#recoveries.then(() => this.#recover(child, reason))
  }

  async #recover(child: Child, reason: ExitReason): Promise<void> {
    if (child.leaving || this.#closed) return this.#release(child, reason)
    // The recovery of a sibling has restarted it already.
    if (child.alive) return
    const failure = { at: this.#environment.clock.now(), reason }
    const decision = decide(child.spec.restart, failure, this.#failures, this.#intensity, this.#backoff, this.#environment.random())
    if (decision.kind === 'leave') return this.#release(child, reason)
    this.#failures = decision.failures
    if (decision.kind === 'escalate') return this.#escalate(child, reason)
    this.#environment.publish({ event: 'restarting', actor: child.spec.name, reason, delay: decision.delay })
    const group = restartedTogether(this.#strategy, [...this.#children.values()], child)
    for (const member of group.toReversed()) if (member !== child) await member.halt()
    await child.pause(decision.delay)
    for (const member of group) {
      const failed = await this.#restart(member, child, reason)
      if (failed) return this.#recover(member, failed)
    }
  }

  /** Returns why the member did not start; undefined if it runs, or is not to run. */
  async #restart(member: Child, cause: Child, reason: ExitReason): Promise<ExitReason | undefined> {
    // A member that is still being spawned is left to its spawn, which reports a failure to the caller.
    if (member.gone || member.alive || member.starting) return undefined
    const returns = !this.#closed && !member.leaving && (member === cause || member.spec.restart !== 'temporary')
    if (!returns) {
      this.#release(member, { kind: 'stopped' })
      return undefined
    }
    try {
      await member.start(reason)
      return undefined
    } catch (error) {
      const failed: ExitReason = { kind: 'failed', error: asError(error) }
      if (!member.leaving) return failed
      // It was stopped while it started, which is no failure: the others of its group follow.
      this.#release(member, failed)
      return undefined
    }
  }

  /** Fails the parent, whose end stops the other children. */
  #escalate(child: Child, reason: ExitReason): void {
    this.#release(child, reason)
    const { restarts, within } = this.#intensity
    const [first, last] = [errorOf(child, this.#failures[0]!.reason), errorOf(child, reason)]
    const message =
      `${child.spec.name}: more than ${restarts} failures within ${within} ms; the first was ${first.message}; ` +
      `the last was ${last.message}; fix their cause or allow more restarts`
    const error = new ArbalestError('ACTOR_FAILED', message, { cause: last, data: { actor: child.spec.name, restarts, within, first } })
    this.#closed = true
    this.#environment.publish({ event: 'escalated', actor: this.#parent, error })
    this.#fail(error)
  }

  #release(child: Child, reason: ExitReason): void {
    child.finish(reason)
    if (this.#children.get(child.spec.name) === child) this.#children.delete(child.spec.name)
  }

  /** A name that no sibling has: events and snapshots tell actors apart by it. */
  #nameOf(className: string, { name }: LocalSpawnOptions): string {
    const own = name ?? `${className}-${++this.#spawned}`
    const path = this.#parent === '' ? own : `${this.#parent}/${own}`
    for (let copy = 1; ; copy++) {
      const free = copy === 1 ? path : `${path}-${copy}`
      if (!this.#children.has(free)) return free
    }
  }
}

function specOf(name: string, how: SpawnOptions): Omit<ChildSpec, 'begin' | 'kept'> {
  const { restart = 'temporary', shutdown = DEFAULT_SHUTDOWN, deadline = DEFAULT_START_DEADLINE, mailbox = {} } = how
  return { name, restart, shutdown, startDeadline: deadline, mailbox }
}

function errorOf(child: Child, reason: ExitReason): Error {
  if (reason.kind === 'failed') return reason.error
  return actorGone(child.spec.name, 'incarnation', reason.kind === 'stopped' ? 'it stopped' : `its thread ended with code ${reason.code}`)
}
