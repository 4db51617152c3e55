import type { JobScope } from '../actors/job-scope.js'
import { instability } from '../rules/stability.js'
import { isTuned, type Intervention } from '../schedules/interventions.js'
import { GivenPopulation, type PopulationControl } from '../tuner/population-control.js'
import { TunedPopulation } from '../tuner/tuned-population.js'
import { ownSettings } from './hosts/meeting.js'
import { MemoryBudget, reserveGrowth } from './memory/budget.js'
import type { MemoryNeed } from './memory/need.js'
import type { PreparedRun } from './prepare/prepare.js'
import { presentRule } from './run-settings.js'
import type { RunActors } from './start/run-actors.js'

/** What follows the given number or schedule of a run's learners, or tunes their number. `made`: what programs have changed so far. */
export function populationOf(
  { settings, resumption, hosts }: PreparedRun,
  { learners: all }: RunActors,
  { engine }: JobScope,
  need: MemoryNeed,
  made: () => readonly Intervention[]
): PopulationControl {
  const { learners, population, rule, changes } = settings
  const { schedule, tuning } = population
  if (!tuning) return new GivenPopulation(schedule, all, resumption?.state.round)
  reserveGrowth(engine, ownSettings(hosts, settings), need)
  const refusal = (from: number, to: number) =>
    instability(presentRule({ rule, changes: made() }), to) ??
    MemoryBudget.now(engine, settings).refusal(need, Math.ceil((to - from) / (hosts?.host.size ?? 1)))
  return new TunedPopulation({ start: learners, history: schedule, tuning, tunes: isTuned(changes), run: all, refusal })
}
