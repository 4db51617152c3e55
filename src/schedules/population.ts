import { group, required, type GivenOptions, type ToldByName } from '../schema/group.js'
import { list, whole } from '../schema/values.js'

/** The largest number of learners that any run may have. */
export const MOST_LEARNERS = 1024

const populationChange = group({
  round: required(whole()),
  learners: required(whole({ min: 1, max: MOST_LEARNERS }))
})

export const populationSchedule = list(
  populationChange,
  'a list of changes, such as [{ round: 0, learners: 2 }, { round: 100, learners: 3 }]',
  {
    min: 1
  }
)

/** The number of learners from this round on. */
export interface PopulationChange extends GivenOptions<typeof populationChange>, ToldByName {}

/**
 * The number of learners over a run, by rising rounds from 0 on. Together with the run's options it determines the run, so that a tuned run can be
 * repeated bit for bit.
 */
export type PopulationSchedule = readonly PopulationChange[]

/** The number of learners in a round. */
export function learnersAt(population: PopulationSchedule, round: number): number {
  return population.findLast((change) => change.round <= round)!.learners
}

/** The round of the first change after this round; Infinity if there is none. */
export function changeAfter(population: PopulationSchedule, round: number): number {
  return population.find((change) => change.round > round)?.round ?? Infinity
}

/** The schedule with another number of learners from this round on, without its later changes. */
export function changedAt(population: PopulationSchedule, { round, learners }: PopulationChange): PopulationSchedule {
  return [...population.filter((change) => change.round < round), { round, learners }]
}

/** The schedule with another number of learners from this round on, until its next change. */
export function withChange(population: PopulationSchedule, change: PopulationChange): PopulationSchedule {
  return [...changedAt(population, change), ...population.filter(({ round }) => round > change.round)]
}

/** The largest number of learners at any time: of the schedule, or with a tuner the number that it may reach from the last change on. */
export function mostLearners({
  schedule,
  tuning
}: {
  readonly schedule: PopulationSchedule
  readonly tuning?: { readonly most: number } | undefined
}): number {
  return tuning ? Math.max(tuning.most, schedule.at(-1)!.learners) : Math.max(...schedule.map(({ learners }) => learners))
}
