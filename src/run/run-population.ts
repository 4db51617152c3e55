import type { JobScope } from '../actors/job-scope.js'
import { isTuned } from '../schedules/interventions.js'
import { GivenPopulation, type PopulationControl } from '../tuner/population-control.js'
import { TunedPopulation } from '../tuner/tuned-population.js'
import { ownSettings } from './hosts/meeting.js'
import { MemoryBudget, reserveGrowth } from './memory/budget.js'
import type { MemoryNeed } from './memory/need.js'
import type { PreparedRun } from './prepare/prepare.js'
import type { RunActors } from './start/run-actors.js'

/** What follows the given number or schedule of a run's learners, or tunes their number. */
export function populationOf(
  { settings, resumption, hosts }: PreparedRun,
  { learners: all }: RunActors,
  { engine }: JobScope,
  need: MemoryNeed
): PopulationControl {
  const { learners, population, changes } = settings
  const { schedule, tuning } = population
  if (!tuning) return new GivenPopulation(schedule, all, resumption?.state.round)
  reserveGrowth(engine, ownSettings(hosts, settings), need)
  const refusal = (more: number) => MemoryBudget.now(engine, settings).refusal(need, Math.ceil(more / (hosts?.host.size ?? 1)))
  return new TunedPopulation({ start: learners, history: schedule, tuning, tunes: isTuned(changes), run: all, refusal })
}
