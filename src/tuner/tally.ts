import type { PopulationFigures } from '../observe/events.js'

/**
 * The measurements of one population: logarithms of throughputs, so that differences stand for ratios. A visit is the windows between two changes of the
 * population. Windows of one visit are more alike than windows of different visits, since threads tend to stay on their cores.
 */
export class Tally {
  readonly #visits: number[][] = []

  /** Begins a visit: the next windows belong to it. */
  beginVisit(): void {
    this.#visits.push([])
  }

  add(throughput: number): void {
    if (this.#visits.length === 0) this.beginVisit()
    this.#visits.at(-1)!.push(Math.log(throughput))
  }

  get windows(): number {
    return this.#visits.reduce((sum, visit) => sum + visit.length, 0)
  }

  get windowsOfVisit(): number {
    return this.#visits.at(-1)!.length
  }

  get visits(): number {
    return this.#visits.length
  }

  /** Of the visits, which have equal weights. */
  get mean(): number {
    return mean(this.#visits.map(mean))
  }

  /** Sum of squared differences of windows from the mean of their visit. */
  get squares(): number {
    return this.#visits.reduce((sum, visit) => sum + squares(visit), 0)
  }

  /** Sum of squared differences of visits from the mean. */
  get squaresOfVisits(): number {
    return squares(this.#visits.map(mean))
  }
}

/** The tallies of all populations, as events report them. */
export function figuresOf(tallies: ReadonlyMap<number, Tally>): PopulationFigures[] {
  return [...tallies].map(([learners, { mean: logarithm, squares: sum, windows, visits }]) => ({
    learners,
    samplesPerSecond: Math.exp(logarithm),
    std: windows > visits ? Math.sqrt(sum / (windows - visits)) : 0,
    windows
  }))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function squares(values: readonly number[]): number {
  const centre = mean(values)
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0)
}
