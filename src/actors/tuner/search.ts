import { halfWidth, pooledDeviation, Tally } from './tally.js'

export interface SearchOptions {
  readonly origin: number
  readonly least: number
  readonly most: number
  /** Learners more or fewer at a time: one a device. */
  readonly by: number
  /** What makes a population worth having, as a share of throughput. */
  readonly threshold: number
  /** How much slower than the best fewer than now may be. */
  readonly slack: number
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

export interface Step {
  readonly to: number
  readonly reason: string
  /** The search is over: `to` is what it found. */
  readonly found: boolean
}

/**
 * Climbs from one population to its neighbours. Upwards a population is worth it where it brings more than half the threshold over the last that was,
 * downwards where throughput stays within the threshold of the best; a way ends one population beyond the last that was worth it, or where throughput
 * collapses. Then the smallest population within the threshold of the best is the one. So two learners that bring 3% each are not overlooked, and none
 * is kept that brings nothing. Then the other way: throughput need have no single summit.
 *
 * A population is judged after at least 3 windows by the 99% interval of the ratio (Student's t on logarithms, pooled variance); after 8 by the
 * estimate where the interval is narrower than twice the threshold to either side, after 16 by the estimate as it is.
 */
export class Search {
  readonly #options: SearchOptions
  readonly #tallies = new Map<number, Tally>()
  #way: 'up' | 'down' | undefined
  #turned: boolean
  #at: number
  /** The smallest that cannot be had. */
  #refused = Infinity
  /** The last population on the way that was worth it, and those beyond it that were not. */
  #summit: number
  #misses = 0

  constructor(options: SearchOptions) {
    this.#options = options
    this.#at = options.origin
    this.#summit = options.origin
    this.#turned = !options.both
  }

  get tallies(): ReadonlyMap<number, Tally> {
    return this.#tallies
  }

  /** Whether it has yet to try another population than the one from which it sets out. */
  get isAtOrigin(): boolean {
    return this.#way === undefined
  }

  /** One more window of the population in hand; undefined while more are wanted. */
  observe(throughput: number): Step | undefined {
    const tally = this.#tallies.get(this.#at) ?? new Tally()
    this.#tallies.set(this.#at, tally)
    tally.add(throughput)
    if (this.#way === undefined) return this.#isKnown(tally) ? this.#leave() : undefined
    return this.#judge(tally)
  }

  /** The population in hand cannot be had, nor a larger one: the search goes on without them, or finds another where it was over. */
  refuse(reason: string): Step {
    this.#refused = this.#at
    return this.#turn(reason)
  }

  #isKnown(origin: Tally): boolean {
    const [fewest, most] = ORIGIN_WINDOWS
    if (origin.count < fewest) return false
    const { deviation } = pooledDeviation([origin])
    return origin.count >= most || deviation / Math.sqrt(origin.count) < this.#options.threshold / 4
  }

  #leave(): Step {
    this.#way = this.#options.first
    const told = `${learners(this.#at)} at ${this.#pace(this.#at)}`
    return this.#onwards(told) ?? this.#turn(told)
  }

  #judge(tally: Tally): Step | undefined {
    const up = this.#way === 'up'
    const { threshold, slack } = this.#options
    const reference = up ? this.#summit : this.#best(this.#at)
    const bound = up ? Math.log1p(threshold / 2) : -Math.log1p(slack)
    const other = this.#tallies.get(reference)!
    const gain = tally.mean - other.mean
    if (tally.count < FEWEST_WINDOWS) return undefined
    const width = halfWidth(tally, other, this.#tallies.values())
    const open = Math.abs(gain - bound) < width
    if (open && tally.count < MOST_WINDOWS && (tally.count < ENOUGH_WINDOWS || width > 2 * threshold)) return undefined
    if (gain > bound) {
      this.#summit = this.#at
      this.#misses = 0
    } else this.#misses++
    const told = `${learners(this.#at)}: ${compared(gain)} than with ${reference}`
    const ends = this.#misses > AHEAD || gain < Math.log1p(-FAR)
    return (ends ? undefined : this.#onwards(told)) ?? this.#turn(told)
  }

  #onwards(reason: string): Step | undefined {
    const { by, least, most } = this.#options
    const to = this.#way === 'up' ? this.#at + by : this.#at - by
    if (to < least || to > most || to >= this.#refused) return undefined
    this.#at = to
    return { to, reason: `${reason}; trying ${to}`, found: false }
  }

  /** This way leads no further. */
  #turn(reason: string): Step {
    if (this.#turned) return this.#find(reason)
    const { origin } = this.#options
    this.#turned = true
    this.#way = this.#way === 'up' ? 'down' : 'up'
    this.#at = origin
    this.#summit = origin
    this.#misses = 0
    return this.#onwards(reason) ?? this.#find(reason)
  }

  #find(reason: string): Step {
    const to = this.#smallest()
    this.#at = to
    return { to, reason: `${reason}; ${learners(to)} it is`, found: true }
  }

  #best(except: number): number {
    return [...this.#tallies]
      .filter(([population]) => population !== except)
      .reduce((best, each) => (each[1].mean > best[1].mean ? each : best))[0]
  }

  #smallest(): number {
    const { origin, threshold, slack } = this.#options
    const had = [...this.#tallies].filter(([population]) => population < this.#refused)
    const best = Math.max(...had.map(([, { mean }]) => mean))
    const enough = (population: number) => best - Math.log1p(population < origin ? slack : threshold)
    return Math.min(...had.filter(([population, { mean }]) => mean >= enough(population)).map(([population]) => population))
  }

  #pace(population: number): string {
    return `${Math.exp(this.#tallies.get(population)!.mean).toPrecision(3)} samples/s`
  }
}

export function learners(count: number): string {
  return `${count} ${count === 1 ? 'learner' : 'learners'}`
}

function compared(gain: number): string {
  const percent = 100 * Math.expm1(gain)
  return `${Math.abs(percent).toFixed(1)}% ${percent < 0 ? 'less' : 'more'}`
}
