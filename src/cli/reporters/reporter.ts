import type { JobEvent, ProgressEvent, StartedEvent } from '../../index.js'

/** Writes a job's events to stdout. */
export interface Reporter {
  show(event: JobEvent): void
  /** Called after the last event, also after an error: restores the terminal. */
  close(): void
}

export interface Output extends NodeJS.WritableStream {
  readonly isTTY?: boolean
}

/** Writes each event as one line of JSON, after the number of its job where several write to the same output. */
export class JsonLines implements Reporter {
  readonly #output: Output
  readonly #job: { readonly job?: number }

  constructor(output: Output, job?: number) {
    this.#output = output
    this.#job = job === undefined ? {} : { job }
  }

  show(event: JobEvent): void {
    this.#output.write(`${JSON.stringify({ ...this.#job, ...event })}\n`)
  }

  close(): void {}
}

/** Images per second, averaged over windows that are longer than the interval of events, in which there may be no whole iteration. */
export class ThroughputMeter {
  readonly #batch: number
  readonly #window: number
  #from = { iteration: 0, seconds: 0, learners: 0 }
  #latest = 0

  /** `window` in seconds of training. */
  constructor({ batch }: Pick<StartedEvent, 'batch'>, { window = 1 }: { window?: number } = {}) {
    this.#batch = batch
    this.#window = window
  }

  /** The throughput of the last complete window; before the first is complete, since its beginning. */
  at({ iteration, seconds, learners }: Pick<ProgressEvent, 'iteration' | 'seconds' | 'learners'>): number {
    // The number of learners is constant within a window, and a run that has gone back counts its seconds anew.
    if ((learners !== this.#from.learners && this.#from.learners > 0) || seconds < this.#from.seconds)
      this.#from = { iteration, seconds, learners }
    const elapsed = seconds - this.#from.seconds
    const complete = elapsed >= this.#window
    if (elapsed > 0 && (complete || this.#from.learners === 0))
      this.#latest = ((iteration - this.#from.iteration) * this.#batch * learners) / elapsed
    if (complete) this.#from = { iteration, seconds, learners }
    return this.#latest
  }
}
