import type { Program } from '../../compiler/program.js'
import type { MemoryLimit } from '../../compiler/tiers/fit.js'
import { restorationOf, type Restoration } from '../../compiler/tiers/restoration.js'
import type { TransferSpeed } from '../../compiler/tiers/transfers.js'
import { ArbalestError } from '../../errors.js'
import { changedAt } from '../../schedules/population.js'
import type { Pieces } from '../../turns.js'
import type { RunSettings } from '../run-settings.js'
import type { Speeds } from '../speeds.js'
import { mebibytes, type MemoryBudget } from './budget.js'
import type { RunMemory } from './need.js'

/** A run that is slower than this by prediction has to be asked for, by a limit. */
const MOST_SLOWDOWN = 1.5

/** What a run consists of, for its memory. */
export interface FittedRun {
  /** With as many learners as fit, if their number is tuned. */
  readonly settings: RunSettings
  readonly train: Program
  readonly memory: RunMemory
  /** What restoring values costs; absent if the run holds everything. */
  readonly restoration?: Restoration
}

/** How a run is tried out. */
export interface RunTrial {
  readonly settings: RunSettings
  /** As many processes as this one train together. */
  readonly hosts: number
  readonly train: Program
  readonly budget: MemoryBudget
  readonly memoryOf: (train: Program, settings: RunSettings) => RunMemory
  /** The most learners that this process makes. */
  readonly learnersOf: (settings: RunSettings) => number
  /** Compiles the training step once more, within a limit. */
  readonly compile: (limit: MemoryLimit) => Pieces<Program>
  readonly speeds: () => Speeds
  /** Of the second tier; undefined if nothing may be moved there. */
  readonly transfers: () => TransferSpeed | undefined
}

/**
 * A run that fits into the budget: as it is; with fewer learners, if their number is tuned; or with activations that are computed again or moved to the
 * second tier instead of being held. Throws OUT_OF_MEMORY.
 */
export function* fitRun(trial: RunTrial): Pieces<FittedRun> {
  const { budget, train, memoryOf } = trial
  const settings = withFewerLearners(trial, memoryOf(train, trial.settings))
  // Fewer learners share fewer arenas.
  const memory = memoryOf(train, settings)
  const learners = trial.learnersOf(settings)
  if (budget.holds(memory.need, learners)) return { settings, train, memory }

  const ofDevice = budget.ofDevice(learners)
  const speed = trial.speeds()
  const activations = memory.activationsWithin(budget.free, ofDevice)
  const transfers = trial.transfers()
  const again = yield* compiledWithin(Math.max(0, activations), { ...trial, speed, transfers })
  const least = memory.withActivations(again.floor, ofDevice)
  if (again.train && least <= budget.free) {
    const restoration = restorationOf(again.train, { speed, transfers, updateBytes: memory.updateBytes })
    if (budget.limit !== undefined || restoration.predictedSlowdown <= MOST_SLOWDOWN)
      return { settings, train: again.train, memory: memoryOf(again.train, settings), restoration }
  }
  if (budget.limit === budget.free) throw beyondLimit({ limit: budget.limit, floor: least, batch: settings.batch, learners })
  budget.check(memory.need, learners)
  throw new ArbalestError('INTERNAL', 'memory: a run that does not fit was not refused; report this')
}

/** The step within the limit, or the bytes of the least arena that it can have. */
function* compiledWithin(
  activations: number,
  { compile, speed, transfers }: Pick<RunTrial, 'compile'> & { readonly speed: Speeds; readonly transfers: TransferSpeed | undefined }
): Pieces<{ readonly train?: Program; readonly floor: number }> {
  try {
    const train = yield* compile({ activations, speed, transfers })
    return { train, floor: train.arenas.activations }
  } catch (error) {
    const floor = error instanceof ArbalestError && error.code === 'OUT_OF_MEMORY' ? error.data?.['floor'] : undefined
    if (typeof floor !== 'number') throw error
    return { floor }
  }
}

/** A tuned run begins with no more learners than fit into memory, and never has more. */
function withFewerLearners({ settings, budget, hosts }: RunTrial, { need }: RunMemory): RunSettings {
  const { schedule, tuning } = settings.population
  if (!tuning) return settings
  const fitting = hosts * Math.max(1, budget.mostTuned(need))
  // As many on each device, if every device has room for one.
  const even = fitting < tuning.by ? fitting : fitting - (fitting % tuning.by)
  const learners = settings.learners <= fitting ? settings.learners : even
  const most = Math.min(tuning.most, fitting)
  return {
    ...settings,
    learners,
    population: { schedule: changedAt(schedule, { ...schedule.at(-1)!, learners }), tuning: { ...tuning, most } }
  }
}

/** The error of a run that cannot be fitted into the limit that its user has set. */
export function beyondLimit({
  limit,
  floor,
  batch,
  learners
}: {
  readonly limit: number
  readonly floor: number
  readonly batch: number
  readonly learners: number
}): ArbalestError {
  const fixes = [
    `at least ${mebibytes(floor)}`,
    ...(batch > 1 ? ['a smaller batch, of which optimiser.accumulate takes several in a step'] : []),
    ...(learners > 1 ? ['fewer learners'] : [])
  ]
  const trained = `${learners === 1 ? 'a learner' : `${learners} learners`} with batch ${batch}`
  const message = `deviceMemory: received ${mebibytes(limit)}, within which ${trained} cannot train; use ${fixes.join(', or ')}`
  return new ArbalestError('OUT_OF_MEMORY', message, { data: { limit, floor, batch, learners } })
}
