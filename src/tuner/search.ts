import { doubt, halfWidth, pooledDeviation } from './confidence.js'
import { Runoff, VISIT_WINDOWS } from './runoff.js'
import { Standings, type StandingsOptions } from './standings.js'
import type { Tally } from './tally.js'

export interface SearchOptions extends StandingsOptions {
  readonly least: number
  readonly most: number
  /** Learners more or fewer at a time: one a device. */
  readonly by: number
  readonly first: 'up' | 'down'
  /** Whether the other way is looked at too. */
  readonly both: boolean
}

/** Windows of the population from which a search sets out, to which all others are held: as many as make its mean known, within these. */
const ORIGIN_WINDOWS = [4, 12] as const

/** Windows of any other: at least, and at most. */
const FEWEST_WINDOWS = 3
const MOST_WINDOWS = 16

/** After so many windows the estimate is taken where it is known to twice the threshold. */
const ENOUGH_WINDOWS = 8

/** Populations that a way goes on beyond the last that was worth it: beside a busy process two learners may be no faster than one, and three be. */
const AHEAD = 1

/** A population that loses so large a share is no dip: the way ends. */
const FAR = 0.1

export interface SearchStep {
  readonly to: number
  readonly reason: string
  /** The search is over: `to` is what it found. */
  readonly found: boolean
}

/**
 * Climbs from one population to its neighbours. Upwards a population is worth it where it brings more than half the threshold over the last that was,
 * downwards where throughput stays within the threshold of the best; a way ends one population beyond the last that was worth it, or where throughput
 * collapses. So two learners that bring 3% each are not overlooked, and none is kept that brings nothing. Then the other way: throughput need have no
 * single summit. At the end those that could still be the best are visited by turns (see Runoff), and the smallest population within the threshold of
 * the best is the one.
 *
 * A population is judged after at least 3 windows by the 99% interval of the ratio (Student's t on logarithms, pooled variance); after 8 by the
 * estimate where the interval is narrower than twice the threshold to either side, after 16 by the estimate as it is.
 */
export class Search {
  readonly #options: SearchOptions
  readonly #standings: Standings
  #way: 'up' | 'down' | undefined
  #turned: boolean
  #at: number
  /** The last population on the way that was worth it, and those beyond it that were not. */
  #summit: number
  #misses = 0
  #runoff: Runoff | undefined
  /** The next window is the first of a visit. */
  #arrived = true
  #over = false

  constructor(options: SearchOptions) {
    this.#options = options
    this.#standings = new Standings(options)
    this.#at = options.origin
    this.#summit = options.origin
    this.#turned = !options.both
  }

  get tallies(): ReadonlyMap<number, Tally> {
    return this.#standings.tallies
  }

  /** Whether it has yet to try another population than the one from which it sets out. */
  get isAtOrigin(): boolean {
    return this.#way === undefined
  }

  /** What the population in hand brings over the one from which it set out: the logarithm of their ratio. */
  get gain(): number {
    const from = this.tallies.get(this.#options.origin)
    return from ? this.tallies.get(this.#at)!.mean - from.mean : 0
  }

  /** One more window of the population in hand; undefined while more are wanted. */
  observe(throughput: number): SearchStep | undefined {
    const tally = this.#standings.tally(this.#at)
    if (this.#arrived) tally.begin()
    this.#arrived = false
    tally.add(throughput)
    if (this.#way === undefined) return this.#isKnown(tally) ? this.#leave() : undefined
    if (this.#runoff) return tally.windowsOfVisit < VISIT_WINDOWS ? undefined : this.#visit(this.#told())
    return this.#judge(tally)
  }

  /** The population in hand cannot be had, nor a larger one: the search goes on without them, or finds another where it was over. */
  refuse(reason: string): SearchStep {
    this.#standings.refuse(this.#at)
    if (this.#over) return this.#find(reason)
    this.#runoff?.endRound()
    return this.#runoff ? this.#visit(reason) : this.#turn(reason)
  }

  #isKnown(origin: Tally): boolean {
    const [fewest, most] = ORIGIN_WINDOWS
    if (origin.windows < fewest) return false
    const { std } = pooledDeviation([origin])
    return origin.windows >= most || std / Math.sqrt(origin.windows) < this.#options.threshold / 4
  }

  #leave(): SearchStep {
    this.#way = this.#options.first
    const told = this.#told()
    return this.#onwards(told) ?? this.#turn(told)
  }

  #judge(tally: Tally): SearchStep | undefined {
    const up = this.#way === 'up'
    const { threshold, slack } = this.#options
    const reference = up ? this.#summit : this.#standings.best(this.#at)
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
    const told = `${learners(this.#at)}: ${compared(gain)} than with ${reference}`
    const ends = this.#misses > AHEAD || gain + doubt(tally, other, all) < Math.log1p(-FAR)
    return (ends ? undefined : this.#onwards(told)) ?? this.#turn(told)
  }

  #onwards(reason: string): SearchStep | undefined {
    const { by, least, most } = this.#options
    const to = this.#way === 'up' ? this.#at + by : this.#at - by
    if (to < least || to > most || !this.#standings.canHave(to)) return undefined
    return this.#try(to, `${reason}; trying ${to}`)
  }

  /** This way leads no further. */
  #turn(reason: string): SearchStep {
    if (!this.#turned) {
      const { origin } = this.#options
      this.#turned = true
      this.#way = this.#way === 'up' ? 'down' : 'up'
      this.#at = origin
      this.#summit = origin
      this.#misses = 0
      const step = this.#onwards(reason)
      if (step) return step
    }
    return this.#visit(reason)
  }

  /** The next of those that could still be the best. */
  #visit(reason: string): SearchStep {
    this.#runoff ??= new Runoff(this.#standings)
    const to = this.#runoff.next(this.#at)
    return to === undefined ? this.#find(reason) : this.#try(to, `${reason}; trying ${to} again`)
  }

  #try(to: number, reason: string): SearchStep {
    this.#at = to
    this.#arrived = true
    return { to, reason, found: false }
  }

  #find(reason: string): SearchStep {
    const to = this.#standings.choice()
    this.#at = to
    this.#over = true
    return { to, reason: `${reason}; ${learners(to)} it is`, found: true }
  }

  #told(): string {
    const { mean, visits } = this.tallies.get(this.#at)!
    return `${learners(this.#at)} at ${Math.exp(mean).toPrecision(3)} samples/s${visits > 1 ? ` in ${visits} visits` : ''}`
  }
}

export function learners(count: number): string {
  return `${count} ${count === 1 ? 'learner' : 'learners'}`
}

function compared(gain: number): string {
  const percent = 100 * Math.expm1(gain)
  return `${Math.abs(percent).toFixed(1)}% ${percent < 0 ? 'less' : 'more'}`
}
