import { doubt } from './confidence.js'
import { Tally } from './tally.js'

export interface ComparisonOptions {
  /** The population from which the search began. */
  readonly origin: number
  /** The gain, as a share of throughput, that makes another learner worth having. */
  readonly threshold: number
  /** How much slower than the best a population smaller than the origin may be, as a share of throughput. */
  readonly slack: number
}

/** The share of the best throughput that the chosen population may miss, as a multiple of the threshold. */
const MOST_MISSED = 1.25

/** The smallest standard deviation of visits that is assumed: the placement of threads shows only from visit to visit. */
const LEAST_STD_OF_VISITS = 0.03

/** Compares the measurements of the populations that a search has visited. */
export class Comparison {
  readonly tallies = new Map<number, Tally>()
  readonly #options: ComparisonOptions
  /** The smallest population that is impossible. */
  #impossible = Infinity

  constructor(options: ComparisonOptions) {
    this.#options = options
  }

  /** Neither this population nor a larger one is possible: memory does not hold it. */
  refuse(population: number): void {
    this.#impossible = Math.min(this.#impossible, population)
  }

  isPossible(population: number): boolean {
    return population < this.#impossible
  }

  /** The tally of this population, made at the first call. */
  tally(population: number): Tally {
    const tally = this.tallies.get(population) ?? new Tally()
    this.tallies.set(population, tally)
    return tally
  }

  /** The fastest population of all but this one; possible or not. */
  best(except: number): number {
    return fastest([...this.tallies].filter(([population]) => population !== except))
  }

  /** The smallest population that is within the threshold of the best beyond doubt. */
  choice(): number {
    const { origin, threshold, slack } = this.#options
    const best = fastest(this.#possible())
    const enough = (population: number) =>
      this.#isBehind(population, best) <=
      Math.min(Math.log1p(population < origin ? slack : threshold), this.#bound - this.#doubt(population, best))
    return Math.min(...this.#populations().filter(enough))
  }

  /** The best population, and all that may be faster than it by more than the choice may miss, most promising first. */
  contenders(): number[] {
    const best = fastest(this.#possible())
    const promise = (population: number) => this.#doubt(population, best) - this.#isBehind(population, best)
    const others = this.#populations().filter((population) => population !== best && promise(population) > this.#bound)
    return [best, ...others.sort((a, b) => promise(b) - promise(a))]
  }

  get #bound(): number {
    return Math.log1p(MOST_MISSED * this.#options.threshold)
  }

  #isBehind(population: number, best: number): number {
    return this.tallies.get(best)!.mean - this.tallies.get(population)!.mean
  }

  #doubt(population: number, best: number): number {
    if (population === best) return 0
    return doubt(this.tallies.get(population)!, this.tallies.get(best)!, [...this.tallies.values()], LEAST_STD_OF_VISITS)
  }

  #populations(): number[] {
    return this.#possible().map(([population]) => population)
  }

  #possible(): [number, Tally][] {
    return [...this.tallies].filter(([population]) => this.isPossible(population))
  }
}

function fastest(tallies: [number, Tally][]): number {
  return tallies.reduce((best, each) => (each[1].mean > best[1].mean ? each : best))[0]
}
