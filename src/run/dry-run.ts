import { SEGMENTS, type Program } from '../compiler/program.js'
import type { PlannedEvent, PlannedProgram } from '../observe/events.js'
import { iterationSamples } from '../options/settings.js'
import { planRunSources, type PreparedRun } from './prepare/prepare.js'
import type { RunPrograms } from './prepare/programs.js'
import { scheduleOf } from './schedule.js'

/** The first step shows that everything works, the second that it still works after an update. */
const STEPS = 2

/** The run cut to two steps and a single batch of evaluation. */
export function dryRunOf(run: PreparedRun): PreparedRun {
  const settings = { ...run.settings, until: { ...run.settings.until, epochs: Infinity, steps: STEPS } }
  const cut = { ...run, settings, programs: shortened(run.programs) }
  const scheduleFor: PreparedRun['scheduleFor'] = (population, changes) =>
    scheduleOf(settings, run.dataset.train.count, population, changes)
  return { ...cut, sourcePlan: planRunSources(cut), schedule: scheduleFor(settings.population.schedule), scheduleFor }
}

function shortened({ evaluate, statistics, ...programs }: RunPrograms): RunPrograms {
  return {
    ...programs,
    evaluate: evaluate.slice(0, 1).map((pass) => ({ ...pass, steps: 1 })),
    statistics: statistics && { ...statistics, steps: 1 }
  }
}

/** The plan of the whole run that a dry run stands for. */
export function plannedEvent({ programs, settings, schedule, dataset, need, budget }: PreparedRun): PlannedEvent {
  const { learners } = settings
  return {
    event: 'planned',
    programs: plannedPrograms(programs),
    learners,
    stepsAnEpoch: Math.ceil(dataset.train.count / (learners * iterationSamples(settings))),
    steps: schedule.iterations,
    bytesPerLearner: need.perLearner,
    bytesShared: need.shared,
    bytesFree: budget.free
  }
}

function plannedPrograms({ train, statistics, evaluate, predict }: RunPrograms): PlannedProgram[] {
  const planned = ({ name, batch, segments, arenas }: Program): PlannedProgram => {
    const operators = SEGMENTS.flatMap((segment) => segments[segment])
    return { name, batch, operators: operators.length, flops: operators.reduce((sum, { flops }) => sum + flops, 0), arenas }
  }
  return [train, ...(statistics ? [statistics.program] : []), ...evaluate.map(({ program }) => program), predict].map(planned)
}
