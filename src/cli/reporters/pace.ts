import type { ProgressEvent, StartedEvent } from '../../index.js'

/** Images a second over windows long enough to be read: events come so often that one may hold no whole iteration. */
export class Pace {
  readonly #batch: number
  readonly #window: number
  #from = { iteration: 0, seconds: 0, learners: 0 }
  #latest = 0

  /** `window` in seconds of training. */
  constructor({ batch }: Pick<StartedEvent, 'batch'>, { window = 1 }: { window?: number } = {}) {
    this.#batch = batch
    this.#window = window
  }

  /** The pace of the last whole window; before the first one ends, that of its beginning. */
  at({ iteration, seconds, learners }: Pick<ProgressEvent, 'iteration' | 'seconds' | 'learners'>): number {
    // A window has one population.
    if (learners !== this.#from.learners && this.#from.learners > 0) this.#from = { iteration, seconds, learners }
    const passed = seconds - this.#from.seconds
    const whole = passed >= this.#window
    if (passed > 0 && (whole || this.#from.learners === 0))
      this.#latest = ((iteration - this.#from.iteration) * this.#batch * learners) / passed
    if (whole) this.#from = { iteration, seconds, learners }
    return this.#latest
  }
}
