import type { JobEvent, PopulationEvent } from '../../index.js'
import { external } from '../text.js'

/** What the tuner of the number of learners has tried, in one line at the end: each of its decisions would fill the output of a small run. */
export class TuningSummary {
  #trials = 0
  #first: number | undefined
  #tried = new Set<number>()
  #last: PopulationEvent | undefined

  /** Whether this event is one of those that the line stands for. A schedule that the user gave is no decision of the tuner. */
  takes(event: JobEvent): event is PopulationEvent {
    if (event.event !== 'population' || event.action === 'follow') return false
    this.#first ??= event.from
    this.#last = event
    if (event.action === 'try') {
      this.#trials++
      this.#tried.add(event.to)
    }
    return true
  }

  /** undefined if nothing was tried. */
  get text(): string | undefined {
    if (this.#last === undefined || this.#trials === 0) return undefined
    const tried = [...this.#tried].sort((a, b) => a - b).join(', ')
    const trials = `${this.#trials} ${this.#trials === 1 ? 'trial' : 'trials'}`
    return `learners: from ${this.#first} to ${this.#last.to} after ${trials} (of ${tried}): ${external(this.#last.reason)}; --verbose tells each trial`
  }
}
