import { doubt, pooledDeviation } from './confidence.js'
import { Drift } from './drift.js'
import { learners, Search, type Step } from './search.js'
import { Tally } from './tally.js'

/** A stretch of training in which the population did not change. */
export interface Window {
  readonly samples: number
  /** Of wall time in which learners trained. */
  readonly seconds: number
  /** Processors that had nothing to do, in the mean; absent where nobody knows. */
  readonly idle?: number
  /** Seconds that the run will last at this pace. */
  readonly remaining?: number
}

export interface TunerOptions {
  readonly start: number
  readonly least?: number
  readonly most: number
  /** Learners more or fewer at a time: one a device. */
  readonly by?: number
  /** What makes a population worth having, as a share of throughput. */
  readonly threshold?: number
}

/** What was measured of one population. */
export interface PopulationFigures {
  readonly learners: number
  readonly samplesPerSecond: number
  /** Of one window from another, as a share. */
  readonly deviation: number
  readonly windows: number
}

/** - `try`: to measure another population. - `settle`: found; `to` may be what trains already. - `look`: the load seems to have changed. */
export type TunerAction = 'try' | 'settle' | 'look'

export interface Decision {
  readonly action: TunerAction
  readonly from: number
  readonly to: number
  readonly reason: string
  readonly figures: readonly PopulationFigures[]
}

/** Nobody shall miss more than 5% of the best throughput, and estimates err by about one. */
export const THRESHOLD = 0.04

/** A look costs about so many windows, and pays where the run goes on for so many times as long. */
const LOOK_WINDOWS = 8
const WORTH = 20

/** Windows after settling by which the level is known, and before which nothing is looked at anew; doubled by each look that brought nothing worth having. */
const KNOWN_AFTER = 8
const PATIENCE = 8
const MOST_PATIENCE = 64

/**
 * A look without any sign comes after so many times the patience: a processor that has become free slows nobody down, and a search during which the
 * load changed may have ended anywhere.
 */
const ROUTINE = 15

/** So much of a processor more idle than when the population was settled, for so many windows, is a sign. */
const IDLE = 0.5
const IDLE_WINDOWS = 3

/**
 * Finds the number of learners with which training is fastest, and finds it again when the load changes. It is fed whole windows and answers
 * with decisions; it knows neither clocks nor actors.
 *
 * A search climbs from neighbour to neighbour (see Search); what it finds it keeps, until throughput drifts (Page's cumulative sum), processors fall
 * idle, or a long time has passed: then it looks again. Each look that brings nothing doubles the time before the next, so that noise cannot make it
 * go to and fro.
 *
 * After the rule of Koliousis et al., "Crossbow: Scaling Deep Learning with Small Batch Sizes on Multi-GPU Servers", VLDB 2019, with whole windows
 * and a confidence in the place of single samples.
 */
export class Tuner {
  readonly #options: Required<TunerOptions>
  #learners: number
  #most: number
  /** The one in hand, or the last: what it settled on may turn out not to be had. */
  #search: Search
  #settled: Settled | undefined
  #patience = PATIENCE

  constructor({ least = 1, by = 1, threshold = THRESHOLD, ...options }: TunerOptions) {
    this.#options = { least, by, threshold, ...options }
    this.#learners = options.start
    this.#most = options.most
    this.#search = this.#newSearch('up', true)
  }

  /** Those whose windows it wants. */
  get learners(): number {
    return this.#learners
  }

  /** One more window of `learners`; what to do now, or undefined to go on. */
  observe(window: Window): Decision | undefined {
    const throughput = window.samples / window.seconds
    const settled = this.#settled
    if (!settled) {
      if (this.#search.isAtOrigin && !this.#pays(window)) return this.#rest(window)
      const step = this.#search.observe(throughput)
      return step && this.#take(step)
    }
    const sign = settled.observe(throughput, window.idle)
    if (!sign || settled.windows < this.#patience || !this.#pays(window)) return undefined
    return this.#look(sign)
  }

  /**
   * The population that it asked for cannot be had, nor a larger one: what to do instead. Where it had settled on that one, it settles on the best
   * that it measured below; so it comes, at the latest, to the one that trains.
   */
  refuse(reason: string): Decision {
    this.#most = Math.max(this.#options.least, this.#learners - this.#options.by)
    return this.#take(this.#search.refuse(reason))
  }

  #pays({ seconds, remaining = Infinity }: Window): boolean {
    return remaining >= WORTH * LOOK_WINDOWS * seconds
  }

  /** Not worth a look: it stays as it is. */
  #rest({ seconds, remaining = Infinity }: Window): Decision {
    const reason = `the run ends in about ${remaining.toFixed(0)} s, and looking for a better population pays above ${(WORTH * LOOK_WINDOWS * seconds).toFixed(0)} s: ${learners(this.#learners)} it stays`
    this.#settle()
    return { action: 'settle', from: this.#learners, to: this.#learners, reason, figures: figuresOf(this.#search) }
  }

  #take({ to, reason, found }: Step): Decision {
    const from = this.#learners
    this.#learners = to
    if (found) this.#settle()
    const figures = figuresOf(this.#search)
    return { action: found ? 'settle' : 'try', from, to, reason, figures }
  }

  #settle(): void {
    this.#patience = this.#search.gain < Math.log1p(this.#options.threshold) ? Math.min(MOST_PATIENCE, this.#patience * 2) : PATIENCE
    this.#settled = new Settled(this.#search.tallies.get(this.#learners), {
      threshold: this.#options.threshold,
      routine: ROUTINE * this.#patience
    })
  }

  #look({ reason, first, both }: Sign): Decision | undefined {
    const figures = this.#settled!.figures(this.#learners)
    if (!both && this.#learners + this.#options.by > this.#most) return undefined
    this.#search = this.#newSearch(first, both)
    this.#settled = undefined
    return { action: 'look', from: this.#learners, to: this.#learners, reason, figures }
  }

  #newSearch(first: 'up' | 'down', both: boolean): Search {
    const { least, by, threshold } = this.#options
    // Who has settled moves for a clear reason only: what is just as good as it is stays away.
    const slack = this.#settled ? threshold / 2 : threshold
    return new Search({ origin: this.#learners, least, most: this.#most, by, threshold, slack, first, both })
  }
}

/** Why to look again, and where first. */
interface Sign {
  readonly reason: string
  readonly first: 'up' | 'down'
  readonly both: boolean
}

/** Watches whether what was settled on still holds. */
class Settled {
  readonly #threshold: number
  readonly #routine: number
  /** From the search, and since. */
  readonly #before: Tally | undefined
  readonly #since = new Tally()
  #drift: Drift | undefined
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
      return this.#since.windows < KNOWN_AFTER ? undefined : this.#know()
    }
    const moved = this.#drift.observe(Math.log(throughput))
    this.#idleWindows = idle !== undefined && idle >= (this.#idle ?? Infinity) + IDLE ? this.#idleWindows + 1 : 0
    if (moved !== 0) return movedBy(moved)
    if (this.#idleWindows >= IDLE_WINDOWS) return { reason: 'processors have fallen idle; looking again', first: 'up', both: false }
    if (this.#windows >= this.#routine)
      return { reason: 'nothing has changed for long; looking whether it still is the best', first: 'up', both: true }
    return undefined
  }

  figures(population: number): PopulationFigures[] {
    return [figure(population, this.#since)]
  }

  /** The level by enough windows, from here on watched; a search whose own windows were of another load is not believed. */
  #know(): Sign | undefined {
    const tallies = this.#before ? [this.#before, this.#since] : [this.#since]
    this.#level = this.#since.mean
    const { deviation } = pooledDeviation(tallies)
    const allowance = Math.max(this.#threshold / 2, deviation / 2)
    this.#drift = new Drift({ level: this.#level, allowance, limit: Math.max(2 * this.#threshold, 6 * deviation) })
    if (!this.#before) return undefined
    const change = this.#since.mean - this.#before.mean
    const certain = Math.abs(change) - doubt(this.#since, this.#before, tallies) > Math.log1p(this.#threshold)
    return certain ? movedBy(change) : undefined
  }
}

/** `change`: of the logarithm of throughput. */
function movedBy(change: number): Sign {
  const percent = Math.abs(100 * Math.expm1(change)).toFixed(0)
  const reason = `throughput has ${change > 0 ? 'risen' : 'fallen'} by ${percent}% from what was settled on; looking again`
  return { reason, first: change > 0 ? 'up' : 'down', both: true }
}

function figuresOf(search: Search): PopulationFigures[] {
  return [...search.tallies].map(([population, tally]) => figure(population, tally))
}

function figure(population: number, tally: Tally): PopulationFigures {
  return {
    learners: population,
    samplesPerSecond: Math.exp(tally.mean),
    deviation: tally.windows > tally.visits ? Math.sqrt(tally.squares / (tally.windows - tally.visits)) : 0,
    windows: tally.windows
  }
}
