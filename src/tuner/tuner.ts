import type { PopulationFigures, TunerAction } from '../observe/events.js'
import { THRESHOLD } from '../options/learners.js'
import { learners, Search, type SearchStep } from './search.js'
import { SettledMonitor, type SearchTrigger } from './settled-monitor.js'
import { figuresOf } from './tally.js'

/** A stretch of training with the same population. */
export interface MeasuringWindow {
  readonly samples: number
  /** Of wall time while learners trained. */
  readonly seconds: number
  /** Processors that were idle, in the mean; absent if unknown. */
  readonly idle?: number
  /** Seconds until the run ends at this pace. */
  readonly remaining?: number
}

export interface TunerOptions {
  readonly start: number
  readonly least?: number
  readonly most: number
  /** Learners that a step adds or removes: one for each device. */
  readonly by?: number
  /** The gain, as a share of throughput, that makes another learner worth having. */
  readonly threshold?: number
}

export interface Decision {
  readonly action: TunerAction
  readonly from: number
  readonly to: number
  readonly reason: string
  readonly figures: readonly PopulationFigures[]
}

/** The windows that a search takes, roughly; it pays if the run goes on for `PAYS_AFTER` times as long. */
const SEARCH_WINDOWS = 8
const PAYS_AFTER = 20

/** The windows that a run must still have for a trial more: one takes three and more, and its learners have to start. */
const TRIAL_PAYS_AFTER = 32

/** Windows after settling in which triggers are ignored; doubled after each search without a gain. */
const PATIENCE = 8
const MOST_PATIENCE = 64

/**
 * After `ROUTINE` times the patience a search is triggered in any case: a processor that has become free slows down no learner, and if the load changed
 * during a search, its result may be wrong.
 */
const ROUTINE = 15

/**
 * Finds the number of learners with which training is fastest, and finds it again when the load changes. It takes measuring windows and returns
 * decisions; it uses neither clocks nor actors.
 *
 * A search goes from neighbour to neighbour (see Search). The tuner keeps the result until throughput drifts, processors fall idle or a long time has
 * passed (see SettledMonitor), and then searches again. Each search without a gain doubles the time before the next one, so that noise does not make the
 * population oscillate.
 *
 * After the rule of Koliousis et al., "Crossbow: Scaling Deep Learning with Small Batch Sizes on Multi-GPU Servers", VLDB 2019, with windows and
 * confidence intervals instead of single samples.
 */
export class Tuner {
  readonly #options: Required<TunerOptions>
  #learners: number
  #most: number
  /** The present search, or the last one: its result may still turn out to be impossible. */
  #search: Search
  #settled: SettledMonitor | undefined
  #patience = PATIENCE

  constructor({ least = 1, by = 1, threshold = THRESHOLD, ...options }: TunerOptions) {
    this.#options = { least, by, threshold, ...options }
    this.#learners = options.start
    this.#most = options.most
    this.#search = this.#newSearch('up', true)
  }

  /** The population whose windows it takes next. */
  get learners(): number {
    return this.#learners
  }

  /** Takes a window of `learners`. Returns a decision, or undefined to go on. */
  observe(window: MeasuringWindow): Decision | undefined {
    const throughput = window.samples / window.seconds
    const settled = this.#settled
    if (!settled) {
      if (this.#search.isAtOrigin && !this.#pays(window)) return this.#stay(window)
      const step = this.#search.observe(throughput)
      return step && this.#decide(step.found || this.#trialPays(window) ? step : this.#conclude(window))
    }
    const trigger = settled.observe(throughput, window.idle)
    if (!trigger || settled.windows < this.#patience || !this.#pays(window)) return undefined
    return this.#searchAgain(trigger)
  }

  /**
   * Neither the population of the last decision nor a larger one is possible. Returns another decision. If the tuner had settled, it settles on the best
   * smaller population that it measured, in the end on the one that trains.
   */
  refuse(reason: string): Decision {
    this.#most = Math.max(this.#options.least, this.#learners - this.#options.by)
    return this.#decide(this.#search.refuse(reason))
  }

  /** `from` learners trained already, and proved to be too many. Returns the decision for fewer, from which another search begins. */
  retreat(from: number, reason: string): Decision {
    const { least, by } = this.#options
    const figures = figuresOf(this.#search.tallies)
    this.#most = Math.max(least, from - by)
    this.#learners = this.#most
    this.#settled = undefined
    this.#search = this.#newSearch('up', true)
    return { action: 'try', from, to: this.#learners, reason, figures }
  }

  /** Whether a search now would gain more time than it costs. */
  #pays({ seconds, remaining = Infinity }: MeasuringWindow): boolean {
    return remaining >= PAYS_AFTER * SEARCH_WINDOWS * seconds
  }

  /** Whether a trial more, of a search that has begun, would gain more time than it costs. */
  #trialPays({ seconds, remaining = Infinity }: MeasuringWindow): boolean {
    return remaining >= TRIAL_PAYS_AFTER * seconds
  }

  /** Ends a search that has become too late. */
  #conclude({ remaining = 0 }: MeasuringWindow): SearchStep {
    return this.#search.conclude(`the run ends in about ${remaining.toFixed(0)} s, and no further trial would pay`)
  }

  /** Settles without a search. */
  #stay({ seconds, remaining = Infinity }: MeasuringWindow): Decision {
    const reason = `the run ends in about ${remaining.toFixed(0)} s, and a search pays above ${(PAYS_AFTER * SEARCH_WINDOWS * seconds).toFixed(0)} s: staying with ${learners(this.#learners)}`
    this.#settle()
    return { action: 'settle', from: this.#learners, to: this.#learners, reason, figures: figuresOf(this.#search.tallies) }
  }

  #decide({ to, reason, found }: SearchStep): Decision {
    const from = this.#learners
    this.#learners = to
    if (found) this.#settle()
    const figures = figuresOf(this.#search.tallies)
    return { action: found ? 'settle' : 'try', from, to, reason, figures }
  }

  #settle(): void {
    this.#patience = this.#search.gain < Math.log1p(this.#options.threshold) ? Math.min(MOST_PATIENCE, this.#patience * 2) : PATIENCE
    this.#settled = new SettledMonitor(this.#search.tallies.get(this.#learners), {
      threshold: this.#options.threshold,
      routine: ROUTINE * this.#patience
    })
  }

  #searchAgain({ reason, first, both }: SearchTrigger): Decision | undefined {
    const figures = this.#settled!.figures(this.#learners)
    if (!both && this.#learners + this.#options.by > this.#most) return undefined
    this.#search = this.#newSearch(first, both)
    this.#settled = undefined
    return { action: 'look', from: this.#learners, to: this.#learners, reason, figures }
  }

  #newSearch(first: 'up' | 'down', both: boolean): Search {
    const { least, by, threshold } = this.#options
    // After settling, a smaller population must be nearer to the best: a change needs a clear reason.
    const slack = this.#settled ? threshold / 2 : threshold
    return new Search({ origin: this.#learners, least, most: this.#most, by, threshold, slack, first, both })
  }
}
