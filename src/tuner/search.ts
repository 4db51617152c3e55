import { Comparison, type ComparisonOptions } from './comparison.js'
import { doubt, halfWidth, pooledStd } from './confidence.js'
import { Runoff, VISIT_WINDOWS } from './runoff.js'
import type { Tally } from './tally.js'

export interface SearchOptions extends ComparisonOptions {
  readonly least: number
  readonly most: number
  /** Learners that a step adds or removes: one for each device. */
  readonly by: number
  /** The direction that is searched first. */
  readonly first: 'up' | 'down'
  /** Whether the other direction is searched, too. */
  readonly both: boolean
}

/** The least and the largest number of windows of the origin, with which all other populations are compared. */
const ORIGIN_WINDOWS = [4, 12] as const

/** The least and the largest number of windows of any other population. */
const FEWEST_WINDOWS = 3
const MOST_WINDOWS = 16

/** The number of windows after which the estimate decides, if its interval is narrower than twice the threshold. */
const ENOUGH_WINDOWS = 8

/** The number of populations beyond the last worthwhile one that are tried: beside a busy process two learners may be no faster than one while three are. */
const AHEAD = 1

/** A loss of throughput by this share is no mere dip: the direction is given up. */
const COLLAPSE = 0.1

/** The population to go to next. */
export interface SearchStep {
  readonly to: number
  readonly reason: string
  /** Whether the search has ended, with `to` as its result. */
  readonly found: boolean
}

/**
 * Searches from one population to its neighbours. Upwards, a population is worthwhile if it gains more than half the threshold over the last worthwhile
 * one; downwards, if its throughput stays within the threshold of the best. A direction ends one population beyond the last worthwhile one, or where
 * throughput collapses. So two learners that gain 3% each are found, and a learner that gains nothing is not kept. Then the search goes in the other
 * direction, since throughput may have several maxima. At the end the populations that could still be the best are visited in turns (see Runoff); the
 * result is the smallest population within the threshold of the best.
 *
 * A population is judged after 3 windows or more by the 99% confidence interval of the ratio (Student's t on logarithms, pooled variance); after 8 windows
 * by the estimate, if the interval is narrower than twice the threshold to either side; after 16 by the estimate alone.
 */
export class Search {
  readonly #options: SearchOptions
  readonly #comparison: Comparison
  /** undefined: the origin is being measured. */
  #direction: 'up' | 'down' | undefined
  #turned: boolean
  /** The present population. */
  #at: number
  /** The one that trains: that of the last window. */
  #trains: number
  /** The last worthwhile population in this direction, and the number of others beyond it. */
  #summit: number
  #misses = 0
  #runoff: Runoff | undefined
  /** Whether the next window is the first of a visit. */
  #arrived = true
  #over = false

  constructor(options: SearchOptions) {
    this.#options = options
    this.#comparison = new Comparison(options)
    this.#at = options.origin
    this.#trains = options.origin
    this.#summit = options.origin
    this.#turned = !options.both
  }

  get tallies(): ReadonlyMap<number, Tally> {
    return this.#comparison.tallies
  }

  /** Whether no other population than the origin has been tried yet. */
  get isAtOrigin(): boolean {
    return this.#direction === undefined
  }

  /** The logarithm of the ratio of the present population's throughput to the origin's. */
  get gain(): number {
    const from = this.tallies.get(this.#options.origin)
    return from ? this.tallies.get(this.#at)!.mean - from.mean : 0
  }

  /** Takes a window of the present population. Returns the next step; undefined if more windows are needed. */
  observe(throughput: number): SearchStep | undefined {
    const tally = this.#comparison.tally(this.#at)
    if (this.#arrived) tally.beginVisit()
    this.#arrived = false
    this.#trains = this.#at
    tally.add(throughput)
    if (this.#direction === undefined) return this.#isKnown(tally) ? this.#leave() : undefined
    if (this.#runoff) return tally.windowsOfVisit < VISIT_WINDOWS ? undefined : this.#visit(this.#summary())
    return this.#judge(tally)
  }

  /** Neither the present population nor a larger one is possible. Returns another step; after the end of the search another result. */
  refuse(reason: string): SearchStep {
    this.#comparison.refuse(this.#at)
    if (this.#over) return this.#find(reason)
    this.#runoff?.endRound()
    return this.#runoff ? this.#visit(reason) : this.#turn(reason)
  }

  /** Ends the search with the best of what has been measured. */
  conclude(reason: string): SearchStep {
    return this.#find(reason)
  }

  #isKnown(origin: Tally): boolean {
    const [fewest, most] = ORIGIN_WINDOWS
    if (origin.windows < fewest) return false
    const { std } = pooledStd([origin])
    return origin.windows >= most || std / Math.sqrt(origin.windows) < this.#options.threshold / 4
  }

  #leave(): SearchStep {
    this.#direction = this.#options.first
    const summary = this.#summary()
    return this.#onwards(summary) ?? this.#turn(summary)
  }

  #judge(tally: Tally): SearchStep | undefined {
    const up = this.#direction === 'up'
    const { threshold, slack } = this.#options
    const reference = up ? this.#summit : this.#comparison.best(this.#at)
    const bound = up ? Math.log1p(threshold / 2) : -Math.log1p(slack)
    const other = this.tallies.get(reference)!
    const gain = tally.mean - other.mean
    if (tally.windows < FEWEST_WINDOWS) return undefined
    const all = [...this.tallies.values()]
    const width = halfWidth(tally, other, all)
    const open = Math.abs(gain - bound) < width
    if (open && tally.windows < MOST_WINDOWS && (tally.windows < ENOUGH_WINDOWS || width > 2 * threshold)) return undefined
    if (gain > bound) {
      this.#summit = this.#at
      this.#misses = 0
    } else this.#misses++
    const summary = `${learners(this.#at)}: ${compared(gain)} than with ${reference}`
    const ends = this.#misses > AHEAD || gain + doubt(tally, other, all) < Math.log1p(-COLLAPSE)
    return (ends ? undefined : this.#onwards(summary)) ?? this.#turn(summary)
  }

  #onwards(reason: string): SearchStep | undefined {
    const { by, least, most } = this.#options
    const to = this.#direction === 'up' ? this.#at + by : this.#at - by
    if (to < least || to > most || !this.#comparison.isPossible(to)) return undefined
    return this.#try(to, `${reason}; trying ${to}`)
  }

  /** Goes in the other direction, or begins the runoff. */
  #turn(reason: string): SearchStep {
    if (!this.#turned) {
      const { origin } = this.#options
      this.#turned = true
      this.#direction = this.#direction === 'up' ? 'down' : 'up'
      this.#at = origin
      this.#summit = origin
      this.#misses = 0
      const step = this.#onwards(reason)
      if (step) return step
    }
    return this.#visit(reason)
  }

  /** Goes to the next population of the runoff, or ends the search. */
  #visit(reason: string): SearchStep {
    this.#runoff ??= new Runoff(this.#comparison)
    const to = this.#runoff.next(this.#trains)
    return to === undefined ? this.#find(reason) : this.#try(to, `${reason}; trying ${to} again`)
  }

  #try(to: number, reason: string): SearchStep {
    this.#at = to
    this.#arrived = true
    return { to, reason, found: false }
  }

  #find(reason: string): SearchStep {
    const to = this.#comparison.choice()
    this.#at = to
    this.#over = true
    return { to, reason: `${reason}; settled on ${learners(to)}`, found: true }
  }

  #summary(): string {
    const { mean, visits } = this.tallies.get(this.#at)!
    return `${learners(this.#at)} at ${Number(Math.exp(mean).toPrecision(3)).toLocaleString('en-US')} samples/s${visits > 1 ? ` in ${visits} visits` : ''}`
  }
}

export function learners(count: number): string {
  return `${count} ${count === 1 ? 'learner' : 'learners'}`
}

function compared(gain: number): string {
  const percent = 100 * Math.expm1(gain)
  return `${Math.abs(percent).toFixed(1)}% ${percent < 0 ? 'less' : 'more'}`
}
