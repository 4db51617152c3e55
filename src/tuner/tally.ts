/**
 * What was measured of one population: logarithms of throughputs, so that differences are ratios. Windows come in visits: those between two changes
 * of the population are more alike than those of different visits, for threads stay where the system has once put them.
 */
export class Tally {
  readonly #visits: number[][] = []

  /** What comes from here on is of another visit. */
  begin(): void {
    this.#visits.push([])
  }

  add(throughput: number): void {
    if (this.#visits.length === 0) this.begin()
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

  /** Of its visits, each as good as any other. */
  get mean(): number {
    return mean(this.#visits.map(mean))
  }

  /** Of windows from their visit's mean. */
  get squares(): number {
    return this.#visits.reduce((sum, visit) => sum + squares(visit), 0)
  }

  /** Of visits from the mean. */
  get squaresOfVisits(): number {
    return squares(this.#visits.map(mean))
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function squares(values: readonly number[]): number {
  const centre = mean(values)
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0)
}
