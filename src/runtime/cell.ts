import { ArbalestError, unknownName } from '../errors.js'
import { Later, type ActorClass, type ActorHooks, type ExitReason } from './actor.js'
import type { Cancel } from './clock.js'
import type { ActorContext } from './context.js'
import { asError } from './errors-across-threads.js'
import type { Outcome } from './life.js'
import { Mailbox } from './mailbox.js'
import { Meter } from './meter.js'
import { methodProxy } from './method-proxy.js'
import { Milestone } from './milestone.js'
import type { Realm } from './realm.js'
import type { ActorRef } from './ref.js'
import type { Offspring } from './spawning.js'
import { Timers } from './timers.js'

/** One message to an actor; without `reply` it was told and not asked. */
export interface Delivery {
  readonly method: string
  readonly args: readonly unknown[]
  readonly reply?: ((outcome: Outcome) => void) | undefined
  /** It leaves the mailbox and is handled now. */
  readonly taken?: () => void
  /** It will never be handled; not for what the actor sends to itself. */
  readonly lost?: ((method: string) => void) | undefined
}

/** What a cell is made for. */
export interface CellSetting {
  readonly name: string
  readonly realm: Realm
  /** What its Meter counts in. */
  readonly figures: SharedArrayBuffer
  /** Milliseconds for which the message in hand may hold up the end of an actor that has failed. */
  readonly shutdown: number
  /** Whether another thread has asked it to stop. */
  readonly flagged?: () => boolean
}

const HOOKS: ReadonlySet<string> = new Set(['constructor', 'started', 'restarted', 'terminated', 'stopping'])

/** An actor with its mailbox, in the thread where it lives. */
export class Cell {
  /** Resolves, never rejects, when the actor is no more. */
  readonly exited: Promise<ExitReason>
  /** On its way to that: the message in hand is done, or given up; and the children have ended. */
  readonly rested = new Milestone()
  readonly childless = new Milestone()
  readonly #givenUp = new Milestone()
  readonly #setting: CellSetting
  readonly #mailbox: Mailbox<Delivery>
  readonly #meter: Meter
  readonly #timers: Timers
  #actor: ActorHooks | undefined
  #children: Offspring | undefined
  #resolveExit!: (reason: ExitReason) => void
  #ending = false

  /**
   * The actor is made, its first hooks have run, and its mailbox is open. `restarted` says why the life before ended, where there was one;
   * it is not kept, since an error's stack keeps the life alive that threw it. Rejects with what the actor threw, its children stopped.
   */
  static async start(actorClass: ActorClass, options: unknown, setting: CellSetting, restarted?: ExitReason): Promise<Cell> {
    const cell = new Cell(setting)
    try {
      cell.#actor = new actorClass(options as never, cell.#context() as never)
      await cell.#actor.started?.()
      if (restarted) await cell.#actor.restarted?.(restarted)
    } catch (error) {
      cell.#ending = true
      cell.#timers.cancel()
      await cell.#children?.stop()
      throw error
    }
    if (!cell.#ending) cell.#mailbox.open()
    return cell
  }

  private constructor(setting: CellSetting) {
    this.#setting = setting
    this.#meter = new Meter(setting.figures)
    this.#mailbox = new Mailbox(setting.realm, (delivery) => this.#handle(delivery))
    this.#timers = new Timers(setting.realm.clock, (delivery) => this.deliver(delivery))
    this.exited = new Promise((resolve) => (this.#resolveExit = resolve))
  }

  get depth(): number {
    return this.#mailbox.depth
  }

  deliver(delivery: Delivery): void {
    if (this.#ending) return delivery.lost?.(delivery.method)
    this.#meter.arrive()
    this.#mailbox.put(delivery)
  }

  /** Messages wait until `resume`; stopping does not. */
  suspend(): void {
    this.#mailbox.suspend()
  }

  resume(): void {
    this.#mailbox.resume()
  }

  /** Ends the actor after the message in hand, ahead of those that wait. */
  stop(): void {
    void this.#end({ kind: 'stopped' })
  }

  /** The message in hand takes too long: the children of an actor that stops wait for it no longer, though its `stopping` hook does. */
  giveUp(): void {
    this.#givenUp.reach()
  }

  /** Ends it at once, whatever it has in hand. */
  fail(error: Error): void {
    void this.#end({ kind: 'failed', error })
  }

  #handle(delivery: Delivery): void | Promise<void> {
    delivery.taken?.()
    this.#meter.begin()
    let result: unknown
    try {
      result = this.#invoke(delivery)
    } catch (error) {
      return this.#settle(delivery, { error })
    }
    if (!isThenable(result)) return this.#settle(delivery, { value: result })
    return Promise.resolve(result).then(
      (value) => this.#settle(delivery, { value }),
      (error: unknown) => this.#settle(delivery, { error })
    )
  }

  #invoke({ method, args }: Delivery): unknown {
    const actor = this.#actor as Record<string, unknown>
    const found = HOOKS.has(method) ? undefined : actor[method]
    if (typeof found !== 'function') throw unknownName(`method of ${this.#setting.name}`, method, methodsOf(actor))
    return found.apply(actor, args)
  }

  #settle({ reply }: Delivery, outcome: Outcome): void {
    this.#meter.end()
    if ('value' in outcome && outcome.value instanceof Later) this.#settleLater(reply, outcome.value)
    else if (reply) reply(outcome)
    else if ('error' in outcome) this.fail(asError(outcome.error))
  }

  #settleLater(reply: Delivery['reply'], { value: promise }: Later<unknown>): void {
    this.#meter.promise()
    const settled = promise.finally(() => this.#meter.keep())
    void settled.then(
      (value) => reply?.({ value }),
      (error: unknown) => (reply ? reply({ error }) : this.fail(asError(error)))
    )
  }

  async #end(reason: ExitReason): Promise<void> {
    if (this.#ending) return
    this.#ending = true
    this.#timers.cancel()
    for (const delivery of this.#mailbox.close()) delivery.lost?.(delivery.method)
    const idle = this.#mailbox.idle().then(() => true)
    const inTime = await this.#rest(idle, reason)
    this.rested.reach()
    await this.#children?.stop()
    this.childless.reach()
    // Left behind, as one that was asked to stop is by whoever asked it.
    if (reason.kind === 'failed' && !inTime) return this.#resolveExit(reason)
    await idle
    try {
      await this.#actor?.stopping?.()
      this.#resolveExit(reason)
    } catch (error) {
      this.#resolveExit(reason.kind === 'failed' ? reason : { kind: 'failed', error: asError(error) })
    }
  }

  /**
   * Until the message in hand is done; false where it was given up. It may be another than the one that failed: children and late replies fail
   * an actor at any time. Who asks an actor to stop limits that himself, a failure has nobody else to limit it.
   */
  async #rest(idle: Promise<boolean>, { kind }: ExitReason): Promise<boolean> {
    const { realm, shutdown } = this.#setting
    const disarm = kind === 'failed' ? realm.clock.after(shutdown, () => this.giveUp()) : undefined
    const inTime = await Promise.race([idle, this.#givenUp.reached.then(() => false)])
    disarm?.()
    return inTime
  }

  #context(): ActorContext<object> {
    const { name, realm, flagged } = this.#setting
    const children = () => (this.#children ??= realm.raise(name, (error) => this.fail(error)))
    const stopRequested = () => this.#ending || (flagged?.() ?? false)
    return {
      name,
      self: { tell: methodProxy((method, args) => realm.defer(() => this.deliver({ method, args }))) },
      get stopRequested() {
        return stopRequested()
      },
      after: (milliseconds) => methodProxy((method, args) => this.#timers.after(milliseconds, { method, args })),
      every: (milliseconds) => methodProxy((method, args) => this.#timers.every(milliseconds, { method, args })),
      supervise: (supervision) => children().supervise(supervision),
      spawn: (module, className, options, how) => this.#whileAlive(() => children().spawn(module, className, options, how)),
      spawnHere: (actorClass, options, how) => this.#whileAlive(() => children().spawnHere(actorClass, options, how)),
      watch: (actor) => this.#watch(actor),
      stop: () => this.stop()
    }
  }

  /** An actor that is ending has no more children. */
  #whileAlive<T>(spawn: () => Promise<T>): Promise<T> {
    if (!this.#ending) return spawn()
    return Promise.reject(new ArbalestError('INVALID_STATE', `${this.#setting.name}: it is stopping; spawn its children before`))
  }

  #watch(actor: ActorRef<object>): Cancel {
    let watching = true
    void actor.exited.then((reason) => {
      if (watching && !this.#ending) this.#mailbox.putSystem(() => this.#terminated(actor.name, reason))
    })
    return () => void (watching = false)
  }

  async #terminated(name: string, reason: ExitReason): Promise<void> {
    try {
      await this.#actor?.terminated?.(name, reason)
    } catch (error) {
      this.fail(asError(error))
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

function methodsOf(actor: object): string[] {
  const names = new Set<string>()
  for (let level: object | null = actor; level && level !== Object.prototype; level = Object.getPrototypeOf(level) as object | null) {
    for (const name of Object.getOwnPropertyNames(level)) {
      if (!HOOKS.has(name) && typeof (actor as Record<string, unknown>)[name] === 'function') names.add(name)
    }
  }
  return [...names]
}
