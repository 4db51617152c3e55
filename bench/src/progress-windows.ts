import { setTimeout as sleep } from 'node:timers/promises'
import type { Job, JobEvent, ProgressEvent } from './arbalest.js'

/** Whole iterations of a run, and the seconds that they took. */
export interface StepsOfWindow {
  readonly iterations: number
  readonly seconds: number
}

/**
 * Windows of a run that are bounded by two of its progress events: these have whole iterations, and the seconds of training at which they were complete.
 */
export class ProgressWindows {
  readonly #events: AsyncIterator<JobEvent>

  constructor(job: Job) {
    this.#events = job[Symbol.asyncIterator]()
  }

  /** Resolves half a second after the first iterations. */
  async warm(): Promise<void> {
    await this.#next()
    await sleep(500)
  }

  /** A window of at least this many seconds: of training, or, by the clock `cpu`, of the processor time of the process. */
  async window(seconds: number, clock: 'wall' | 'cpu' = 'wall'): Promise<StepsOfWindow> {
    // Events from before the process was stopped do not belong to this window.
    const settled = performance.now() + 250
    let first = await this.#next()
    while (performance.now() < settled) first = await this.#next()
    const before = process.cpuUsage()
    for (;;) {
      const last = await this.#next()
      const { user, system } = process.cpuUsage(before)
      const elapsed = clock === 'cpu' ? (user + system) / 1e6 : last.seconds - first.seconds
      if (elapsed >= seconds) return { iterations: last.iteration - first.iteration, seconds: elapsed }
    }
  }

  async #next(): Promise<ProgressEvent> {
    for (;;) {
      const { value, done } = (await this.#events.next()) as { value: JobEvent; done?: boolean }
      if (done === true || value.event === 'finished') throw new Error('the job ended before the bench did')
      if (value.event === 'progress') return value
    }
  }
}
