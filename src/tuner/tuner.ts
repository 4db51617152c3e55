import type { PopulationFigures, TunerAction } from '../observe/events.js'
import { THRESHOLD } from '../options/learners.js'
import { figuresOf } from './figures.js'
import { learners, Search, type SearchStep } from './search.js'
import { Settled, type Sign } from './settled.js'

/** A stretch of training in which the population did not change. */
export interface MeasuringWindow {
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

export interface Decision {
  readonly action: TunerAction
  readonly from: number
  readonly to: number
  readonly reason: string
  readonly figures: readonly PopulationFigures[]
}

/** A look costs about so many windows, and pays where the run goes on for so many times as long. */
const LOOK_WINDOWS = 8
const WORTH = 20

/** Windows after settling before which nothing is looked at anew; doubled by each look that brought nothing worth having. */
const PATIENCE = 8
const MOST_PATIENCE = 64

/**
 * A look without any sign comes after so many times the patience: a processor that has become free slows nobody down, and a search during which the
 * load changed may have ended anywhere.
 */
const ROUTINE = 15

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
  observe(window: MeasuringWindow): Decision | undefined {
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

  /** So many, which trained already, have proved more than can be had: fewer, and from there another search. */
  retreat(from: number, reason: string): Decision {
    const { least, by } = this.#options
    const figures = figuresOf(this.#search.tallies)
    this.#most = Math.max(least, from - by)
    this.#learners = this.#most
    this.#settled = undefined
    this.#search = this.#newSearch('up', true)
    return { action: 'try', from, to: this.#learners, reason, figures }
  }

  #pays({ seconds, remaining = Infinity }: MeasuringWindow): boolean {
    return remaining >= WORTH * LOOK_WINDOWS * seconds
  }

  /** Not worth a look: it stays as it is. */
  #rest({ seconds, remaining = Infinity }: MeasuringWindow): Decision {
    const reason = `the run ends in about ${remaining.toFixed(0)} s, and looking for a better population pays above ${(WORTH * LOOK_WINDOWS * seconds).toFixed(0)} s: ${learners(this.#learners)} it stays`
    this.#settle()
    return { action: 'settle', from: this.#learners, to: this.#learners, reason, figures: figuresOf(this.#search.tallies) }
  }

  #take({ to, reason, found }: SearchStep): Decision {
    const from = this.#learners
    this.#learners = to
    if (found) this.#settle()
    const figures = figuresOf(this.#search.tallies)
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
