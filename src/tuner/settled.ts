import { doubt, pooledDeviation } from './confidence.js'
import { Drift } from './drift.js'
import { figuresOf } from './figures.js'
import type { PopulationFigures } from '../observe/events.js'
import { Tally } from './tally.js'

/** Windows after which the level is known. */
const KNOWN_AFTER = 8

/** So much of a processor more idle than when the population was settled, for so many windows, is a sign. */
const IDLE = 0.5
const IDLE_WINDOWS = 3

/** Why to look again, and where first. */
export interface Sign {
  readonly reason: string
  readonly first: 'up' | 'down'
  readonly both: boolean
}

/** Watches whether what was settled on still holds. */
export class Settled {
  readonly #threshold: number
  readonly #routine: number
  /** From the search, and since. */
  readonly #before: Tally | undefined
  readonly #since = new Tally()
  #drift: Drift | undefined
  /** That the level was not what the search had found, once it is known. */
  #disbelief: Sign | undefined
  #level = 0
  #idle: number | undefined
  #idleWindows = 0
  #windows = 0

  constructor(before: Tally | undefined, { threshold, routine }: { threshold: number; routine: number }) {
    this.#before = before
    this.#threshold = threshold
    this.#routine = routine
  }

  get windows(): number {
    return this.#windows
  }

  observe(throughput: number, idle: number | undefined): Sign | undefined {
    this.#windows++
    if (!this.#drift) {
      this.#since.add(throughput)
      if (idle !== undefined) this.#idle = (this.#idle ?? 0) + idle / KNOWN_AFTER
      if (this.#since.windows === KNOWN_AFTER) this.#know()
      return this.#disbelief
    }
    const moved = this.#drift.observe(Math.log(throughput))
    this.#idleWindows = idle !== undefined && idle >= (this.#idle ?? Infinity) + IDLE ? this.#idleWindows + 1 : 0
    if (moved !== 0) return movedBy(moved)
    if (this.#disbelief) return this.#disbelief
    if (this.#idleWindows >= IDLE_WINDOWS) return { reason: 'processors have fallen idle; looking again', first: 'up', both: false }
    if (this.#windows >= this.#routine)
      return { reason: 'nothing has changed for long; looking whether it still is the best', first: 'up', both: true }
    return undefined
  }

  figures(population: number): PopulationFigures[] {
    return figuresOf(new Map([[population, this.#since]]))
  }

  /** The level by enough windows, from here on watched; a search whose own windows were of another load is not believed. */
  #know(): void {
    const tallies = this.#before ? [this.#before, this.#since] : [this.#since]
    this.#level = this.#since.mean
    const { std } = pooledDeviation(tallies)
    const allowance = Math.max(this.#threshold / 2, std / 2)
    this.#drift = new Drift({ level: this.#level, allowance, limit: Math.max(2 * this.#threshold, 6 * std) })
    if (!this.#before) return
    const change = this.#since.mean - this.#before.mean
    const certain = Math.abs(change) - doubt(this.#since, this.#before, tallies) > Math.log1p(this.#threshold)
    if (certain) this.#disbelief = movedBy(change)
  }
}

/** `change`: of the logarithm of throughput. */
function movedBy(change: number): Sign {
  const percent = Math.abs(100 * Math.expm1(change)).toFixed(0)
  const reason = `throughput has ${change > 0 ? 'risen' : 'fallen'} by ${percent}% from what was settled on; looking again`
  return { reason, first: change > 0 ? 'up' : 'down', both: true }
}
