import { ArbalestError, invalidOption } from '../errors.js'
import { describeExit, type ExitReason } from './actor.js'
import type { Clock, Reminder } from './clock.js'
import { goneError } from './gone.js'
import type { Outcome } from './life.js'

/** When an ask that nobody answers ends. */
export interface AskOptions {
  /** Milliseconds until the ask rejects with DEADLINE_EXCEEDED; Infinity for none. */
  readonly deadline?: number
  /** Rejects the ask with ABORTED. The actor may still handle the message. */
  readonly signal?: AbortSignal | undefined
}

export const DEFAULT_ASK_DEADLINE = 10_000

interface Pending {
  readonly method: string
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly deadline: number
  /** By the clock. */
  readonly due: number
  readonly deafen: (() => void) | undefined
}

/** A timer may ring a little before its time. */
const EARLY = 1

/** The asks of one actor that have no answer yet. Every one settles: by its answer, its deadline, its signal or the actor's exit. */
export class PendingAsks {
  readonly #name: string
  readonly #clock: Clock
  readonly #pending = new Map<number, Pending>()
  readonly #reminder: Reminder
  #reminded = Infinity
  #lastId = 0
  #gone: ExitReason | undefined

  constructor(name: string, clock: Clock) {
    this.#name = name
    this.#clock = clock
    this.#reminder = clock.reminder(() => this.#settleLate())
  }

  has(id: number): boolean {
    return this.#pending.has(id)
  }

  /** Opens an ask; `send` gets its id, and is not called where it is settled already. Rejects with INVALID_OPTION where no moment is its deadline. */
  open(method: string, options: AskOptions, send: (id: number) => void): Promise<unknown> {
    const { deadline = DEFAULT_ASK_DEADLINE, signal } = options
    if (typeof deadline !== 'number' || Number.isNaN(deadline))
      return Promise.reject(invalidOption('deadline', deadline, 'use a number of milliseconds, or Infinity'))
    if (this.#gone) return Promise.reject(this.#goneError(method, this.#gone))
    if (signal?.aborted) return Promise.reject(this.#abortedError(method, signal))
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      const due = deadline === Infinity ? Infinity : this.#clock.now() + Math.max(0, deadline)
      const deafen = signal && this.#listen(id, method, signal)
      this.#pending.set(id, { method, resolve, reject, deadline, due, deafen })
      if (due < this.#reminded) this.#remind(due)
      send(id)
    })
  }

  /** An answer that comes after its ask was settled is dropped. */
  settle(id: number, outcome: Outcome): void {
    const pending = this.#pending.get(id)
    if (!pending) return
    this.#pending.delete(id)
    pending.deafen?.()
    if (this.#pending.size === 0 && this.#reminded !== Infinity) this.#rest()
    if ('error' in outcome) pending.reject(outcome.error)
    else pending.resolve(outcome.value)
  }

  #listen(id: number, method: string, signal: AbortSignal): () => void {
    const abort = () => this.settle(id, { error: this.#abortedError(method, signal) })
    signal.addEventListener('abort', abort, { once: true })
    return () => signal.removeEventListener('abort', abort)
  }

  #remind(due: number): void {
    this.#reminded = due
    this.#reminder.set(due)
  }

  #rest(): void {
    this.#reminded = Infinity
    this.#reminder.rest()
  }

  #settleLate(): void {
    this.#reminded = Infinity
    const now = this.#clock.now()
    let next = Infinity
    for (const [id, { method, due, deadline }] of this.#pending) {
      if (due - now < EARLY) this.settle(id, { error: this.#lateError(method, deadline) })
      else next = Math.min(next, due)
    }
    if (next !== Infinity) this.#remind(next)
  }

  /** A life has ended and another will follow: the asks that it was given reject, those that are `held` back wait. */
  lose(reason: ExitReason, held: ReadonlySet<number>): void {
    for (const [id, { method }] of this.#pending) {
      if (!held.has(id)) this.settle(id, { error: this.#goneError(method, reason, 'it is started again, ask it again') })
    }
  }

  /** The actor is no more: all asks reject, now and from now on. */
  close(reason: ExitReason): void {
    this.#gone = reason
    for (const [id, { method }] of this.#pending) this.settle(id, { error: this.#goneError(method, reason) })
  }

  #goneError(method: string, reason: ExitReason, mend?: string): ArbalestError {
    return goneError(this.#name, method, describeExit(reason), mend, reason.kind === 'failed' ? reason.error : undefined)
  }

  #lateError(method: string, deadline: number): ArbalestError {
    const message = `${this.#name}.${method}: no answer within ${deadline} ms; allow a longer deadline`
    return new ArbalestError('DEADLINE_EXCEEDED', message, { data: { actor: this.#name, method, deadline } })
  }

  #abortedError(method: string, signal: AbortSignal): ArbalestError {
    const message = `${this.#name}.${method}: given up, the signal was aborted`
    return new ArbalestError('ABORTED', message, { cause: signal.reason, data: { actor: this.#name, method } })
  }
}
