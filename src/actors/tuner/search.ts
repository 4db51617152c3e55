import { halfWidth, Tally } from './tally.js'

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

/** Windows of the population from which a search sets out, and of any other: at least, and at most. */
const ORIGIN_WINDOWS = 4
const FEWEST_WINDOWS = 3
const MOST_WINDOWS = 24

/** After so many windows the estimate is taken where it is known to twice the threshold. */
const ENOUGH_WINDOWS = 8

export interface Step {
  readonly to: number
  readonly reason: string
  /** The search is over: `to` is what it found. */
  readonly found: boolean
}

/**
 * Climbs from one population to its neighbours. Upwards it goes on while each step brings more than half the threshold, downwards while throughput
 * stays within the threshold of the best; then the smallest population within the threshold of the best is the one. So two learners that bring
 * 3% each are not overlooked, and none is kept that brings nothing. The other way is only looked at where the first has led nowhere.
 *
 * A step is judged after at least 3 windows by the 99% interval of the ratio (Student's t on logarithms, pooled variance); after 8 by the estimate
 * where the interval is narrower than twice the threshold to either side. What 24 windows cannot tell is left as it is.
 */
export class Search {
  readonly #options: SearchOptions
  readonly #tallies = new Map<number, Tally>()
  #way: 'up' | 'down' | undefined
  #turned: boolean
  #at: number
  #most: number

  constructor(options: SearchOptions) {
    this.#options = options
    this.#at = options.origin
    this.#most = options.most
    this.#turned = !options.both
  }

  get tallies(): ReadonlyMap<number, Tally> {
    return this.#tallies
  }

  /** One more window of the population in hand; undefined while more are wanted. */
  observe(throughput: number): Step | undefined {
    const tally = this.#tallies.get(this.#at) ?? new Tally()
    this.#tallies.set(this.#at, tally)
    tally.add(throughput)
    if (this.#way === undefined) return tally.count < ORIGIN_WINDOWS ? undefined : this.#leave()
    return this.#judge(tally)
  }

  /** The population in hand cannot be had: the search goes on without it. */
  refuse(reason: string): Step {
    this.#most = this.#at - this.#options.by
    return this.#turn(reason)
  }

  #leave(): Step {
    const { first } = this.#options
    const told = `${learners(this.#at)} at ${this.#pace(this.#at)}`
    this.#way = first
    return this.#onwards(told) ?? this.#turn(told)
  }

  #judge(tally: Tally): Step | undefined {
    const up = this.#way === 'up'
    const reference = up ? this.#at - this.#options.by : this.#best(this.#at)
    const bound = up ? Math.log1p(this.#options.threshold / 2) : -Math.log1p(this.#options.slack)
    const other = this.#tallies.get(reference)!
    const gain = tally.mean - other.mean
    if (tally.count < FEWEST_WINDOWS) return undefined
    const width = halfWidth(tally, other, this.#tallies.values())
    if (Math.abs(gain - bound) < width) {
      if (tally.count < ENOUGH_WINDOWS) return undefined
      const vague = width > 2 * this.#options.threshold
      if (vague && tally.count < MOST_WINDOWS) return undefined
      if (vague) {
        this.#tallies.delete(this.#at)
        return this.#turn(`${learners(this.#at)} cannot be told from ${reference}`)
      }
    }
    const told = `${learners(this.#at)}: ${compared(gain)} than with ${reference}`
    return gain > bound ? (this.#onwards(told) ?? this.#find(told)) : this.#turn(told)
  }

  #onwards(reason: string): Step | undefined {
    const { by, least } = this.#options
    const to = this.#way === 'up' ? this.#at + by : this.#at - by
    if (to < least || to > this.#most) return undefined
    this.#at = to
    return { to, reason: `${reason}; trying ${to}`, found: false }
  }

  /** This way leads no further. */
  #turn(reason: string): Step {
    const { origin } = this.#options
    const smallest = this.#smallest()
    if (this.#turned || smallest !== origin) return this.#find(reason)
    this.#turned = true
    this.#way = this.#way === 'up' ? 'down' : 'up'
    this.#at = origin
    return this.#onwards(reason) ?? this.#find(reason)
  }

  #find(reason: string): Step {
    const to = this.#smallest()
    this.#at = to
    return { to, reason: `${reason}; ${learners(to)} it is`, found: true }
  }

  #best(except?: number): number {
    return [...this.#tallies]
      .filter(([population]) => population !== except)
      .reduce((best, each) => (each[1].mean > best[1].mean ? each : best))[0]
  }

  #smallest(): number {
    const { origin, threshold, slack } = this.#options
    const best = this.#tallies.get(this.#best())!.mean
    const enough = (population: number) => best - Math.log1p(population < origin ? slack : threshold)
    return Math.min(...[...this.#tallies].filter(([population, { mean }]) => mean >= enough(population)).map(([population]) => population))
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
