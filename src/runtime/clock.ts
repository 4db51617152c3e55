/** Gives up what was to happen; harmless afterwards. */
export type Cancel = () => void

/** Where the runtime takes its time from. Tests give it one that they turn by hand. */
export interface Clock {
  /** Milliseconds since some moment; never goes back. */
  now(): number
  /** Calls `action` once, `milliseconds` from now. */
  after(milliseconds: number, action: () => void): Cancel
}

export const REAL_CLOCK: Clock = {
  now: () => performance.now(),
  after(milliseconds, action) {
    const timer = setTimeout(action, milliseconds)
    return () => clearTimeout(timer)
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
    const alarm = { at: this.#now + Math.max(0, milliseconds), order: this.#order++, action }
    this.#alarms.add(alarm)
    return () => void this.#alarms.delete(alarm)
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
