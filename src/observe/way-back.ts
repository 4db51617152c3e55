import type { RecordedEvent } from './events.js'

const MEASURED: ReadonlySet<RecordedEvent['event']> = new Set(['progress', 'evaluated', 'logged'])

/** Finds in the events of a run where it went back to an earlier iteration. What it had measured of later iterations no longer counts. */
export class WayBack {
  #toStart = false

  /** The iteration from which the run goes on, at the event that shows it; undefined at all others. */
  take(event: RecordedEvent): number | undefined {
    if (event.event === 'wentBack') this.#toStart = true
    else if (event.event === 'resumed') {
      this.#toStart = false
      return event.iteration
    } else if (this.#toStart && MEASURED.has(event.event)) {
      this.#toStart = false
      return 0
    }
    return undefined
  }
}
