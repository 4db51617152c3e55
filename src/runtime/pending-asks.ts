import { setMaxListeners } from 'node:events'
import { ArbalestError, invalidOption } from '../errors.js'
import { checkMilliseconds, type Clock, type ResettableTimer } from './clock.js'
import { actorGone, describeExit, type ExitReason } from './exit-reason.js'
import type { Outcome } from './incarnation.js'

/** When an ask without an answer ends. */
export interface AskOptions {
  /** Milliseconds until the ask rejects with DEADLINE_EXCEEDED; Infinity for none. */
  readonly deadline?: number
  /** Rejects the ask with ABORTED. The actor may still handle the message. */
  readonly signal?: AbortSignal | undefined
}

const DEFAULT_ASK_DEADLINE = 10_000

interface Pending {
  readonly method: string
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly deadline: number
  /** When the deadline is over, by the clock. */
  due: number
  readonly removeAbortListener: (() => void) | undefined
}

/** Throws INVALID_OPTION. */
function checkSignal(signal: AbortSignal): void {
  // Not by its class, of which another realm has its own.
  const { aborted, addEventListener } = Object(signal) as Partial<AbortSignal>
  if (typeof aborted !== 'boolean' || typeof addEventListener !== 'function')
    throw invalidOption('signal', signal, 'use an AbortSignal, such as the signal of an AbortController')
}

/** A timer may fire this many milliseconds before its time. */
const TIMER_TOLERANCE = 1

/**
 * A timer that fires so late shows that the process, or this thread, was suspended: answers may wait to be read. An ask that is overdue then is prolonged by this share
 * of its deadline, where it was suspended for longer than that, and for more than these milliseconds.
 */
const PROLONGED = 1 / 8
const SUSPENDED = 100

/** The asks of one actor without an answer yet. Each settles: by its answer, its deadline, its signal or the actor's exit. */
export class PendingAsks {
  readonly #name: string
  readonly #clock: Clock
  readonly #pending = new Map<number, Pending>()
  /** One timer for all deadlines: set to the earliest, at `#timerAt`. */
  readonly #timer: ResettableTimer
  #timerAt = Infinity
  #lastId = 0
  #closed: ExitReason | undefined

  constructor(name: string, clock: Clock) {
    this.#name = name
    this.#clock = clock
    this.#timer = clock.resettableTimer(() => this.#settleOverdue())
  }

  has(id: number): boolean {
    return this.#pending.has(id)
  }

  /** Opens an ask and calls `send` with its id, unless the ask is settled at once. Rejects with INVALID_OPTION for a deadline that is no number and a signal that is none. */
  open(method: string, options: AskOptions, send: (id: number) => void): Promise<unknown> {
    const { deadline = DEFAULT_ASK_DEADLINE, signal } = options
    return new Promise((resolve, reject) => {
      checkMilliseconds('deadline', deadline)
      if (signal !== undefined) checkSignal(signal)
      if (this.#closed) throw this.#goneError(method, this.#closed)
      if (signal?.aborted) throw this.#abortedError(method, signal)
      const id = ++this.#lastId
      const due = deadline === Infinity ? Infinity : this.#clock.now() + Math.max(0, deadline)
      const removeAbortListener = signal && this.#listen(id, method, signal)
      this.#pending.set(id, { method, resolve, reject, deadline, due, removeAbortListener })
      if (due < this.#timerAt) this.#setTimer(due)
      send(id)
    })
  }

  /** Settles an ask; an answer to an ask that is settled already is dropped. */
  settle(id: number, outcome: Outcome): void {
    const pending = this.#pending.get(id)
    if (!pending) return
    this.#pending.delete(id)
    pending.removeAbortListener?.()
    if (this.#pending.size === 0 && this.#timerAt !== Infinity) this.#releaseTimer()
    if ('error' in outcome) pending.reject(outcome.error)
    else pending.resolve(outcome.value)
  }

  /** Rejects all that are open; others may follow. */
  rejectAll(error: unknown): void {
    for (const id of this.#pending.keys()) this.settle(id, { error })
  }

  #listen(id: number, method: string, signal: AbortSignal): () => void {
    const abort = () => this.settle(id, { error: this.#abortedError(method, signal) })
    // Any number of asks may share it, and Node warns of more than ten listeners.
    setMaxListeners(0, signal)
    signal.addEventListener('abort', abort, { once: true })
    return () => signal.removeEventListener('abort', abort)
  }

  #setTimer(due: number): void {
    this.#timerAt = due
    this.#timer.set(due)
  }

  #releaseTimer(): void {
    this.#timerAt = Infinity
    this.#timer.unref()
  }

  #settleOverdue(): void {
    const now = this.#clock.now()
    const late = now - this.#timerAt
    this.#timerAt = Infinity
    let next = Infinity
    for (const [id, pending] of this.#pending) {
      const { method, deadline } = pending
      const more = Math.max(TIMER_TOLERANCE, PROLONGED * deadline)
      const isOverdue = pending.due - now < TIMER_TOLERANCE
      const wasSuspended = late > Math.max(SUSPENDED, more)
      if (isOverdue && wasSuspended) pending.due = now + more
      if (isOverdue && !wasSuspended) this.settle(id, { error: this.#deadlineError(method, deadline) })
      else next = Math.min(next, pending.due)
    }
    if (next !== Infinity) this.#setTimer(next)
  }

  /** An incarnation has ended: the asks that it was sent reject. Those that are still `held` wait for the next, or for `close`. */
  rejectSent(reason: ExitReason, held: ReadonlySet<number>, restarted: boolean): void {
    const fix = restarted ? 'it is restarted, ask it again' : undefined
    for (const [id, { method }] of this.#pending) {
      if (!held.has(id)) this.settle(id, { error: this.#goneError(method, reason, fix) })
    }
  }

  /** The actor has ended: all asks reject, open and future ones. */
  close(reason: ExitReason): void {
    this.#closed = reason
    for (const [id, { method }] of this.#pending) this.settle(id, { error: this.#goneError(method, reason) })
    // It would keep what belongs to the actor until the deadline of an ask that was answered long before.
    this.#timer.cancel()
  }

  #goneError(method: string, reason: ExitReason, fix?: string): ArbalestError {
    return actorGone(this.#name, method, describeExit(reason), fix, reason.kind === 'failed' ? reason.error : undefined)
  }

  #deadlineError(method: string, deadline: number): ArbalestError {
    const message = `${this.#name}.${method}: no answer within ${deadline} ms; allow a longer deadline`
    return new ArbalestError('DEADLINE_EXCEEDED', message, { data: { actor: this.#name, method, deadline } })
  }

  #abortedError(method: string, signal: AbortSignal): ArbalestError {
    const message = `${this.#name}.${method}: cancelled, the signal was aborted`
    return new ArbalestError('ABORTED', message, { cause: signal.reason, data: { actor: this.#name, method } })
  }
}
