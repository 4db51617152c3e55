import { doubt } from './confidence.js'
import { Tally } from './tally.js'

export interface StandingsOptions {
  readonly origin: number
  /** What makes a population worth having, as a share of throughput. */
  readonly threshold: number
  /** How much slower than the best fewer than now may be. */
  readonly slack: number
}

/** Nobody shall miss more of the best throughput than so many times the threshold. */
const MISS = 1.25

/** Where the system has put the threads shows in no window of a single visit, however well these agree: another visit may differ by this. */
const LUCK = 0.03

/** What a search has measured of each population, and what that says of those that can be had. */
export class Standings {
  readonly tallies = new Map<number, Tally>()
  readonly #options: StandingsOptions
  /** The smallest that cannot be had. */
  #refused = Infinity

  constructor(options: StandingsOptions) {
    this.#options = options
  }

  /** It cannot be had, nor a larger one. */
  refuse(population: number): void {
    this.#refused = Math.min(this.#refused, population)
  }

  canHave(population: number): boolean {
    return population < this.#refused
  }

  /** Begun with the first window. */
  tally(population: number): Tally {
    const tally = this.tallies.get(population) ?? new Tally()
    this.tallies.set(population, tally)
    return tally
  }

  /** Of all others that were measured, also of those that cannot be had any more. */
  best(except: number): number {
    return fastest([...this.tallies].filter(([population]) => population !== except))
  }

  /** The smallest population within the threshold of the best, or nearer to it where measurements leave doubts: at last the best itself. */
  choice(): number {
    const { origin, threshold, slack } = this.#options
    const best = fastest(this.#had())
    const enough = (population: number) =>
      this.#isBehind(population, best) <=
      Math.min(Math.log1p(population < origin ? slack : threshold), this.#bound - this.#doubt(population, best))
    return Math.min(...this.#populations().filter(enough))
  }

  /** The best, and those that may be better than it by more than anybody shall miss, the likeliest first. Where it is alone, there is nothing left to measure. */
  contenders(): number[] {
    const best = fastest(this.#had())
    const promise = (population: number) => this.#doubt(population, best) - this.#isBehind(population, best)
    const others = this.#populations().filter((population) => population !== best && promise(population) > this.#bound)
    return [best, ...others.sort((a, b) => promise(b) - promise(a))]
  }

  get #bound(): number {
    return Math.log1p(MISS * this.#options.threshold)
  }

  #isBehind(population: number, best: number): number {
    return this.tallies.get(best)!.mean - this.tallies.get(population)!.mean
  }

  #doubt(population: number, best: number): number {
    return population === best ? 0 : doubt(this.tallies.get(population)!, this.tallies.get(best)!, [...this.tallies.values()], LUCK)
  }

  #populations(): number[] {
    return this.#had().map(([population]) => population)
  }

  #had(): [number, Tally][] {
    return [...this.tallies].filter(([population]) => this.canHave(population))
  }
}

function fastest(tallies: [number, Tally][]): number {
  return tallies.reduce((best, each) => (each[1].mean > best[1].mean ? each : best))[0]
}
