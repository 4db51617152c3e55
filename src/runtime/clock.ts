import { invalidOption } from '../errors.js'

/** Throws INVALID_OPTION for what is no time. */
export function checkMilliseconds(parameter: string, time: number): void {
  if (typeof time !== 'number' || Number.isNaN(time)) throw invalidOption(parameter, time, 'use a number of milliseconds, or Infinity')
}

/** Cancels what was to happen; without effect once it has happened. */
export type Cancel = () => void

/** The runtime's source of time. Tests provide a clock that they advance by hand. */
export interface Clock {
  /** Milliseconds since an arbitrary moment; monotonic. */
  now(): number
  /** Calls `action` once, `milliseconds` from now; never for Infinity. */
  after(milliseconds: number, action: () => void): Cancel
  /** A timer that is cheap to set again and again. */
  resettableTimer(action: () => void): ResettableTimer
}

/** One timer for many moments: its action handles what is due and sets the timer again for the rest. */
export interface ResettableTimer {
  /** Calls the action at this moment of the clock or earlier. */
  set(at: number): void
  /** Nothing is due any more: the timer keeps no process alive; its action may still be called once. */
  unref(): void
  /** As `unref`, for good: nothing keeps the action. */
  cancel(): void
}

/** The most milliseconds that a timer of Node's takes; with more it would fire at once. */
export const LONGEST_TIMEOUT = 2 ** 31 - 1

export const REAL_CLOCK: Clock = {
  now: () => performance.now(),
  after(milliseconds, action) {
    if (milliseconds === Infinity) return () => {}
    let timer: NodeJS.Timeout
    const wait = (left: number) => {
      const now = Math.min(left, LONGEST_TIMEOUT)
      timer = setTimeout(left > now ? () => wait(left - now) : action, now)
    }
    wait(milliseconds)
    return () => clearTimeout(timer)
  },
  resettableTimer: (action) => new RealTimer(action)
}

/** The parts in which a deadline passes. */
const PARTS = 8

/**
 * As `clock.after`, for a deadline. It passes in parts, one after another, so that a suspension of the process, or of this thread, counts as one part at most: what is waited for
 * was suspended, too, or its answer waits to be read.
 */
export function deadlineAfter(clock: Pick<Clock, 'now' | 'after'>, milliseconds: number, action: () => void): Cancel {
  const due = clock.now() + milliseconds
  let cancel: Cancel
  const wait = (parts: number) => {
    const left = parts > 0 ? milliseconds / PARTS : due - clock.now()
    if (parts > 0 || left > 0) cancel = clock.after(left, () => wait(parts - 1))
    else action()
  }
  wait(PARTS)
  return () => cancel()
}

/** Keeps its Node timer: making and clearing one costs more than a message, `ref` and `unref` almost nothing. */
class RealTimer implements ResettableTimer {
  readonly #action: () => void
  #timer: NodeJS.Timeout | undefined
  #at = Infinity

  constructor(action: () => void) {
    this.#action = action
  }

  set(at: number): void {
    if (this.#timer && this.#at <= at) {
      this.#timer.ref()
      return
    }
    clearTimeout(this.#timer)
    this.#at = at
    this.#timer = setTimeout(() => this.#fire(), Math.min(LONGEST_TIMEOUT, at - performance.now()))
  }

  unref(): void {
    this.#timer?.unref()
  }

  cancel(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #fire(): void {
    this.#timer = undefined
    this.#action()
  }
}

interface Alarm {
  readonly at: number
  readonly order: number
  readonly action: () => void
}

/** Time that stands still until it is advanced. Alarms of one moment ring in the order in which they were set. */
export class VirtualClock implements Clock {
  readonly #alarms = new Set<Alarm>()
  #now = 0
  #order = 0

  now(): number {
    return this.#now
  }

  after(milliseconds: number, action: () => void): Cancel {
    if (milliseconds === Infinity) return () => {}
    const alarm = { at: this.#now + Math.max(0, milliseconds), order: this.#order++, action }
    this.#alarms.add(alarm)
    return () => void this.#alarms.delete(alarm)
  }

  resettableTimer(action: () => void): ResettableTimer {
    let cancel: Cancel | undefined
    return {
      set: (at) => {
        cancel?.()
        cancel = this.after(at - this.#now, action)
      },
      unref: () => cancel?.(),
      cancel: () => cancel?.()
    }
  }

  /** When the next alarm rings; Infinity if none is set. */
  get next(): number {
    return this.#first()?.at ?? Infinity
  }

  /** Advances to the next alarm and rings it, or to `limit` if that is earlier. Returns whether an alarm rang. */
  ring(limit = Infinity): boolean {
    const alarm = this.#first()
    if (!alarm || alarm.at > limit) {
      if (limit !== Infinity) this.#now = Math.max(this.#now, limit)
      return false
    }
    this.#alarms.delete(alarm)
    this.#now = alarm.at
    alarm.action()
    return true
  }

  #first(): Alarm | undefined {
    let first: Alarm | undefined
    for (const alarm of this.#alarms) {
      if (!first || alarm.at < first.at || (alarm.at === first.at && alarm.order < first.order)) first = alarm
    }
    return first
  }
}
