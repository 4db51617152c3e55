import type { PopulationFigures } from '../observe/events.js'
import { doubt, pooledStd } from './confidence.js'
import { Drift } from './drift.js'
import { figuresOf, Tally } from './tally.js'

/** Windows from which the level of throughput is estimated. */
const LEVEL_WINDOWS = 8

/** Processors have fallen idle if `IDLE_PROCESSORS` more than at first are idle in `IDLE_WINDOWS` windows in a row. */
const IDLE_PROCESSORS = 0.5
const IDLE_WINDOWS = 3

/** Why to search again, and in which direction first. */
export interface SearchTrigger {
  readonly reason: string
  readonly first: 'up' | 'down'
  readonly both: boolean
}

export interface SettledMonitorOptions {
  /** See `ComparisonOptions`. */
  readonly threshold: number
  /** Windows after which a search is triggered in any case. */
  readonly routine: number
}

/** Watches the population on which the tuner has settled for signs that another one has become the best. */
export class SettledMonitor {
  readonly #threshold: number
  readonly #routine: number
  /** The measurements of the search, and those since then. */
  readonly #before: Tally | undefined
  readonly #since = new Tally()
  #drift: Drift | undefined
  /** Set if the level proves to be another one than in the search. */
  #mismatch: SearchTrigger | undefined
  #level = 0
  /** Processors idle at first, in the mean. */
  #idle: number | undefined
  #idleWindows = 0
  #windows = 0

  constructor(before: Tally | undefined, { threshold, routine }: SettledMonitorOptions) {
    this.#before = before
    this.#threshold = threshold
    this.#routine = routine
  }

  get windows(): number {
    return this.#windows
  }

  /** Takes a window: its throughput and the number of idle processors. */
  observe(throughput: number, idle: number | undefined): SearchTrigger | undefined {
    this.#windows++
    if (!this.#drift) {
      this.#since.add(throughput)
      if (idle !== undefined) this.#idle = (this.#idle ?? 0) + idle / LEVEL_WINDOWS
      if (this.#since.windows === LEVEL_WINDOWS) this.#setLevel()
      return this.#mismatch
    }
    const moved = this.#drift.observe(Math.log(throughput))
    this.#idleWindows = idle !== undefined && idle >= (this.#idle ?? Infinity) + IDLE_PROCESSORS ? this.#idleWindows + 1 : 0
    if (moved !== 0) return movedBy(moved)
    if (this.#mismatch) return this.#mismatch
    if (this.#windows >= this.#routine) return { reason: 'no change for long; searching again', first: 'up', both: true }
    if (this.#idleWindows >= IDLE_WINDOWS) return { reason: 'processors have fallen idle; searching again', first: 'up', both: false }
    return undefined
  }

  figures(population: number): PopulationFigures[] {
    return figuresOf(new Map([[population, this.#since]]))
  }

  /** Sets the level that is watched from here on. If the load was another one during the search, the search is not to be trusted. */
  #setLevel(): void {
    const tallies = this.#before ? [this.#before, this.#since] : [this.#since]
    this.#level = this.#since.mean
    const { std } = pooledStd(tallies)
    const allowance = Math.max(this.#threshold / 2, std / 2)
    this.#drift = new Drift({ level: this.#level, allowance, limit: Math.max(2 * this.#threshold, 6 * std) })
    if (!this.#before) return
    const change = this.#since.mean - this.#before.mean
    const certain = Math.abs(change) - doubt(this.#since, this.#before, tallies) > Math.log1p(this.#threshold)
    if (certain) this.#mismatch = movedBy(change)
  }
}

/** `change`: of the logarithm of throughput. */
function movedBy(change: number): SearchTrigger {
  const percent = Math.abs(100 * Math.expm1(change)).toFixed(0)
  const reason = `throughput has ${change > 0 ? 'risen' : 'fallen'} by ${percent}% since settling; searching again`
  return { reason, first: change > 0 ? 'up' : 'down', both: true }
}
