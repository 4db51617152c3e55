/** From this round on so many learners train. */
export interface PopulationChange {
  readonly round: number
  readonly learners: number
}

/**
 * How many learners trained when: rounds rising from 0. Given the options of its run, the run's whole course follows from it, so that a run
 * that was tuned can be repeated bit for bit.
 */
export type PopulationSchedule = readonly PopulationChange[]

export const MOST_LEARNERS = 1024

/** How many learners take part in a round. */
export function learnersAt(population: PopulationSchedule, round: number): number {
  return population.findLast((change) => change.round <= round)!.learners
}

/** The round of the first change after this one; Infinity where there is none. */
export function changeAfter(population: PopulationSchedule, round: number): number {
  return population.find((change) => change.round > round)?.round ?? Infinity
}

/** The same with so many learners from this round on; what was to come later is forgotten. */
export function changedAt(population: PopulationSchedule, { round, learners }: PopulationChange): PopulationSchedule {
  return [...population.filter((change) => change.round < round), { round, learners }]
}
