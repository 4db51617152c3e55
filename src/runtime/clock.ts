/** Gives up what was to happen; harmless afterwards. */
export type Cancel = () => void

/** Where the runtime takes its time from. Tests give it one that they turn by hand. */
export interface Clock {
  /** Milliseconds since some moment; never goes back. */
  now(): number
  /** Calls `action` once, `milliseconds` from now; never where they are Infinity. */
  after(milliseconds: number, action: () => void): Cancel
  /** For what is set and put off all the time. */
  reminder(action: () => void): Reminder
}

/** One alarm for many moments: its `action` looks at what is due, and sets it again for the rest. */
export interface Reminder {
  /** Calls the action at this moment of the clock, or earlier. */
  set(at: number): void
  /** Nobody waits any more: it may be called in vain, and keeps no process alive. */
  rest(): void
}

/** A timer takes no more milliseconds: it would ring at once. */
const LONGEST_TIMEOUT = 2 ** 31 - 1

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
  reminder: (action) => new RealReminder(action)
}

/** Keeps the timer that it has: making and clearing one costs more than a message, letting it go and holding it again next to nothing. */
class RealReminder implements Reminder {
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
    this.#timer = setTimeout(() => this.#ring(), Math.min(LONGEST_TIMEOUT, at - performance.now()))
  }

  rest(): void {
    this.#timer?.unref()
  }

  #ring(): void {
    this.#timer = undefined
    this.#action()
  }
}

interface Alarm {
  readonly at: number
  readonly order: number
  readonly action: () => void
}

/** Time that stands still until it is moved on. Alarms of one moment ring in the order in which they were set. */
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

  reminder(action: () => void): Reminder {
    let cancel: Cancel | undefined
    return {
      set: (at) => {
        cancel?.()
        cancel = this.after(at - this.#now, action)
      },
      rest: () => cancel?.()
    }
  }

  /** When the next alarm rings; Infinity where none is set. */
  get next(): number {
    return this.#first()?.at ?? Infinity
  }

  /** Moves on to the next alarm and rings it, or to `limit` where that is earlier. Says whether one rang. */
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
