import { ArbalestError, unknownName } from '../errors.js'
import { isDeferred, type ActorClass, type ActorHooks, type DeferredReply } from './actor.js'
import { methodProxy, type ActorRef } from './actor-ref.js'
import { checkMilliseconds, type Cancel } from './clock.js'
import type { ActorContext, Children } from './context.js'
import type { Environment } from './environment.js'
import { asError } from './errors-across-threads.js'
import type { ExitReason } from './exit-reason.js'
import type { Outcome } from './incarnation.js'
import { Mailbox } from './mailbox.js'
import { ActorMeter } from './meter.js'
import { deferred } from './promises.js'
import { checkRef } from './argument-checks.js'
import { TimerScheduler } from './timers.js'

/** A message in an actor's mailbox. Without `reply` it was told, not asked. */
export interface Envelope {
  readonly method: string
  readonly args: readonly unknown[]
  readonly reply?: ((outcome: Outcome) => void) | undefined
  /** Called when the message leaves the mailbox to be handled. */
  readonly onTaken?: () => void
  /** Called if the message will never be handled. Absent for messages from the actor to itself. */
  readonly onLost?: ((method: string) => void) | undefined
}

export interface ActorCellOptions {
  readonly name: string
  readonly environment: Environment
  /** The memory of its ActorMeter. */
  readonly counters: SharedArrayBuffer
  /** Milliseconds for which the current message may delay the end of an actor that has failed. */
  readonly shutdown: number
  /** Whether another thread has asked the actor to stop. */
  readonly stopFlag?: () => boolean
  /** Called when the actor begins to end. It is told and asked nothing more. */
  readonly onEnding?: () => void
}

const HOOKS: ReadonlySet<string> = new Set(['constructor', 'started', 'restarted', 'terminated', 'stopping'])

/** One incarnation of an actor, in the thread where it runs: the object, its mailbox, its timers and its children. */
export class ActorCell {
  readonly #options: ActorCellOptions
  readonly #mailbox: Mailbox<Envelope>
  readonly #meter: ActorMeter
  readonly #timers: TimerScheduler
  readonly #watches = new Set<Cancel>()
  /** Once its first hooks are done: whether they succeeded. */
  readonly #started = deferred<boolean>()
  readonly #idle = deferred()
  readonly #abandoned = deferred()
  readonly #childless = deferred()
  readonly #exited = deferred<ExitReason>()
  #actor: ActorHooks | undefined
  #children: Children | undefined
  #ending = false

  /**
   * Constructs the actor, runs its first hooks and opens its mailbox. `restarted` is why the previous incarnation ended; it is not stored,
   * because an error's stack keeps the objects of that incarnation alive. Rejects with the actor's error after its children have stopped.
   */
  static async start(actorClass: ActorClass, options: unknown, cellOptions: ActorCellOptions, restarted?: ExitReason): Promise<ActorCell> {
    const cell = new ActorCell(cellOptions)
    try {
      cell.#actor = new actorClass(options as never, cell.#context() as never)
      await cell.#actor.started?.()
      if (restarted) await cell.#actor.restarted?.(restarted)
    } catch (error) {
      cell.#started.resolve(false)
      cell.#ending = true
      cell.#endTimersAndWatches()
      await cell.#children?.stop()
      throw error
    }
    cell.#started.resolve(true)
    if (!cell.#ending) cell.#mailbox.open()
    return cell
  }

  private constructor(options: ActorCellOptions) {
    const { clock, dispatcher } = options.environment
    this.#options = options
    this.#meter = new ActorMeter(options.counters)
    this.#mailbox = new Mailbox(dispatcher, (envelope) => this.#handle(envelope))
    this.#timers = new TimerScheduler(clock, (envelope) => this.deliver(envelope))
  }

  /** Once the actor ends: its first hooks and the current message are done, or were abandoned. */
  get idle(): Promise<void> {
    return this.#idle.promise
  }

  /** After that: its children have ended. */
  get childless(): Promise<void> {
    return this.#childless.promise
  }

  /** At last: the actor has ended. Never rejects. */
  get exited(): Promise<ExitReason> {
    return this.#exited.promise
  }

  get isEnding(): boolean {
    return this.#ending
  }

  deliver(envelope: Envelope): void {
    if (this.#ending) return envelope.onLost?.(envelope.method)
    this.#meter.arrive()
    this.#mailbox.put(envelope)
  }

  /** Messages wait until `resume`; a stop does not. */
  suspend(): void {
    this.#mailbox.suspend()
  }

  resume(): void {
    this.#mailbox.resume()
  }

  /** Ends the actor after the current message; those that wait are lost. */
  stop(): void {
    void this.#end({ kind: 'stopped' })
  }

  /** The current message takes too long: its children stop without waiting for it. The `stopping` hook still waits. */
  abandonMessage(): void {
    this.#abandoned.resolve()
  }

  /** Ends the actor because of this error. */
  fail(error: Error): void {
    void this.#end({ kind: 'failed', error })
  }

  #handle(envelope: Envelope): void | Promise<void> {
    envelope.onTaken?.()
    this.#meter.begin()
    let result: unknown
    let isPromise: boolean
    try {
      result = this.#invoke(envelope)
      // An answer whose properties throw is an error of its method's.
      isPromise = isThenable(result)
    } catch (error) {
      return this.#settle(envelope, { error })
    }
    if (!isPromise) return this.#settle(envelope, { value: result })
    return Promise.resolve(result).then(
      (value) => this.#settle(envelope, { value }),
      (error: unknown) => this.#settle(envelope, { error })
    )
  }

  #invoke({ method, args }: Envelope): unknown {
    const actor = this.#actor as Record<string, unknown>
    const found = HOOKS.has(method) ? undefined : actor[method]
    if (typeof found !== 'function') throw unknownName(`method of ${this.#options.name}`, method, methodsOf(actor))
    return found.apply(actor, args)
  }

  #settle({ reply }: Envelope, outcome: Outcome): void {
    this.#meter.end()
    if ('value' in outcome && isDeferred(outcome.value)) this.#replyLater(reply, outcome.value)
    else if (reply) reply(outcome)
    else if ('error' in outcome) this.fail(asError(outcome.error))
  }

  #replyLater(reply: Envelope['reply'], { value: promise }: DeferredReply<unknown>): void {
    this.#meter.deferReply()
    const settled = promise.finally(() => this.#meter.sendDeferred())
    void settled.then(
      (value) => reply?.({ value }),
      (error: unknown) => (reply ? reply({ error }) : this.fail(asError(error)))
    )
  }

  #endTimersAndWatches(): void {
    this.#timers.end()
    for (const cancel of this.#watches) cancel()
  }

  async #end(reason: ExitReason): Promise<void> {
    if (this.#ending) return
    this.#ending = true
    this.#options.onEnding?.()
    this.#endTimersAndWatches()
    for (const envelope of this.#mailbox.close()) envelope.onLost?.(envelope.method)
    // It may end while its first hooks run.
    const done = Promise.all([this.#started.promise, this.#mailbox.idle()]).then(() => true)
    const inTime = await this.#currentMessage(done, reason)
    this.#idle.resolve()
    await this.#children?.stop()
    this.#childless.resolve()
    // The message still runs: the actor is left behind without its `stopping` hook.
    if (reason.kind === 'failed' && !inTime) return this.#exited.resolve(reason)
    await done
    try {
      if (await this.#started.promise) await this.#actor?.stopping?.()
      this.#exited.resolve(reason)
    } catch (error) {
      this.#exited.resolve(reason.kind === 'failed' ? reason : { kind: 'failed', error: asError(error) })
    }
  }

  /**
   * Waits for the current message; false if it was abandoned. It need not be the one that failed: a child or a deferred reply can fail an
   * actor at any time. A caller of `stop` limits this wait by `abandonMessage`; after a failure the actor limits it by its own `shutdown`.
   */
  async #currentMessage(done: Promise<boolean>, { kind }: ExitReason): Promise<boolean> {
    const { environment, shutdown } = this.#options
    const disarm = kind === 'failed' ? environment.clock.after(shutdown, () => this.abandonMessage()) : undefined
    const inTime = await Promise.race([done, this.#abandoned.promise.then(() => false)])
    disarm?.()
    return inTime
  }

  #context(): ActorContext<object> {
    const { name, environment, stopFlag } = this.#options
    const children = () => (this.#children ??= environment.createChildren(name, (error) => this.fail(error)))
    const stopRequested = () => this.#ending || (stopFlag?.() ?? false)
    return {
      name,
      self: { tell: methodProxy((method, args) => environment.dispatcher.defer(() => this.deliver({ method, args }))) },
      get stopRequested() {
        return stopRequested()
      },
      after: (milliseconds) => {
        checkMilliseconds('after', milliseconds)
        return methodProxy((method, args) => this.#timers.after(milliseconds, { method, args }))
      },
      every: (milliseconds) => {
        checkMilliseconds('every', milliseconds)
        return methodProxy((method, args) => this.#timers.every(milliseconds, { method, args }))
      },
      supervise: (policy) => children().supervise(policy),
      spawn: (module, className, options, how) => this.#whileAlive(() => children().spawn(module, className, options, how)),
      spawnLocal: (actorClass, options, how) => this.#whileAlive(() => children().spawnLocal(actorClass, options, how)),
      watch: (actor) => this.#watch(actor),
      stop: () => this.stop()
    }
  }

  /** An actor that is ending must not spawn children. */
  #whileAlive<T>(spawn: () => Promise<T>): Promise<T> {
    if (!this.#ending) return spawn()
    return Promise.reject(new ArbalestError('INVALID_STATE', `${this.#options.name}: it is stopping; spawn its children before`))
  }

  /** The promise of the other actor's end keeps its listener for as long as that actor lives, so the listener must not keep this one. */
  #watch(actor: ActorRef<object>): Cancel {
    checkRef('watch', actor)
    const heard = (reason: ExitReason) => {
      cancel()
      this.#mailbox.putSystem(() => this.#terminated(actor.name, reason))
    }
    const watch: Watch = { heard }
    const cancel = () => {
      watch.heard = undefined
      this.#watches.delete(cancel)
    }
    this.#watches.add(cancel)
    tellAtExit(actor, watch)
    return cancel
  }

  async #terminated(name: string, reason: ExitReason): Promise<void> {
    try {
      await this.#actor?.terminated?.(name, reason)
    } catch (error) {
      this.fail(asError(error))
    }
  }
}

interface Watch {
  heard: ((reason: ExitReason) => void) | undefined
}

function tellAtExit(actor: ActorRef<object>, watch: Watch): void {
  void actor.exited.then((reason) => watch.heard?.(reason))
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
