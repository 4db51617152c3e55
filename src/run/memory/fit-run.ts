import { hasStates, type OptimiserAttributes } from '../../compiler/optimiser.js'
import type { Program } from '../../compiler/program.js'
import { restorationOf, type Restoration } from '../../compiler/tiers/restoration.js'
import type { TransferSpeed } from '../../compiler/tiers/transfers.js'
import { ArbalestError, mebibytes } from '../../errors.js'
import { isTuned } from '../../schedules/interventions.js'
import { changedAt } from '../../schedules/population.js'
import type { RunSettings } from '../run-settings.js'
import type { Speeds } from '../explain/speeds.js'
import type { MemoryBudget } from './budget.js'
import type { MovedVectors, RunMemory } from './need.js'
import type { SearchLimit } from './step-planner.js'

/** A run that is slower than this by prediction has to be asked for, by a limit. */
const MOST_SLOWDOWN = 1.5

/** What a run consists of, for its memory. */
export interface FittedRun {
  /** With as many learners as fit, if their number is tuned. */
  readonly settings: RunSettings
  readonly train: Program
  readonly memory: RunMemory
  /** The vectors that lie in the second tier. */
  readonly moved?: MovedVectors
  /** What restoring values costs; absent if the run holds everything. */
  readonly restoration?: Restoration
}

/** How a run is tried out. */
export interface RunTrial {
  readonly settings: RunSettings
  /** As many processes as this one train together. */
  readonly hosts: number
  readonly budget: MemoryBudget
  /** The step for these vectors in the second tier, without a limit. */
  readonly stepOf: (moved: MovedVectors) => Promise<Program>
  readonly memoryOf: (train: Program, settings: RunSettings, moved: MovedVectors) => RunMemory
  /** The most learners that this process makes. */
  readonly learnersOf: (settings: RunSettings) => number
  /** Compiles the training step once more, within a limit. */
  readonly compile: (limit: SearchLimit, moved: MovedVectors) => Promise<Program>
  readonly speeds: () => Speeds
  /** Of the second tier; undefined if nothing may be moved there. */
  readonly transfers: () => TransferSpeed | undefined
}

/**
 * A run that fits into the budget: as it is; with fewer learners, if their number is tuned; or with what is not held: activations that are computed again or moved
 * to the second tier, the states of optimisers there, or all vectors. Throws OUT_OF_MEMORY.
 */
export async function fitRun(trial: RunTrial): Promise<FittedRun> {
  const { budget, memoryOf } = trial
  const train = await trial.stepOf(undefined)
  const settings = withFewerLearners(trial, memoryOf(train, trial.settings, undefined))
  // Fewer learners share fewer arenas.
  const memory = memoryOf(train, settings, undefined)
  const learners = trial.learnersOf(settings)
  if (budget.holds(memory.need, learners)) return { settings, train, memory }

  const speeds = { speed: trial.speeds(), transfers: trial.transfers() }
  const ofDevice = budget.ofDevice(learners)
  const { fitted, floor } = await fitStep(
    {
      ...speeds,
      stepOf: trial.stepOf,
      memoryOf: (step, moved) => memoryOf(step, settings, moved),
      compile: trial.compile,
      ways: waysToMove(settings.optimiser.update, settings.devices.levels, speeds.transfers, trial.hosts)
    },
    budget.free,
    ofDevice
  )
  if (fitted && (budget.limit !== undefined || fitted.restoration.predictedSlowdown <= MOST_SLOWDOWN)) return { settings, ...fitted }
  if (budget.limit === budget.free) throw beyondLimit({ limit: budget.limit, floor, batch: settings.batch, learners })
  budget.check(memory.need, learners)
  throw new ArbalestError('INTERNAL', 'memory: a run that does not fit was not refused; report this')
}

/** How a step may be fitted into memory. */
export interface StepTrial {
  readonly speed: Speeds
  readonly transfers: TransferSpeed | undefined
  readonly stepOf: RunTrial['stepOf']
  readonly memoryOf: (step: Program, moved: MovedVectors) => RunMemory
  readonly compile: RunTrial['compile']
  /** The vectors that may be moved, from none to all. */
  readonly ways: readonly MovedVectors[]
}

interface FittedStep {
  readonly train: Program
  readonly memory: RunMemory
  readonly moved?: MovedVectors
  readonly restoration: Restoration
}

/**
 * The step that is predicted to be fastest within `bytes` of a device that has `learners` learners, if there is one, and the least bytes that it can take. Vectors beside
 * the states are moved only where nothing else is enough.
 */
export async function fitStep(
  trial: StepTrial,
  bytes: number,
  learners: number
): Promise<{ readonly fitted?: FittedStep; readonly floor: number }> {
  let fitted: FittedStep | undefined
  let floor = Infinity
  const held = trial.memoryOf(await trial.stepOf(undefined), undefined).vectors(learners)
  for (const moved of trial.ways) {
    if (moved === 'all' && fitted) break
    const whole = await trial.stepOf(moved)
    const memory = trial.memoryOf(whole, moved)
    const activations = Math.max(0, memory.activationsWithin(bytes, learners))
    const fits = whole.arenas.activations <= activations
    const found = fits ? { train: whole, floor: whole.arenas.activations } : await compiledWithin(activations, trial, moved)
    floor = Math.min(floor, memory.withActivations(found.floor, learners))
    if (!found.train || memory.withActivations(found.train.arenas.activations, learners) > bytes) continue
    const vectorBytes = held - memory.vectors(learners)
    const updated = moved === 'all' ? memory.updateBytes / 2 + memory.adoptedBytes : vectorBytes / learners
    const restoration = restorationOf(found.train, {
      speed: trial.speed,
      transfers: trial.transfers,
      updateBytes: memory.updateBytes,
      ...(moved && { vectors: { bytes: vectorBytes, updated } })
    })
    if (fitted && fitted.restoration.predictedSlowdown <= restoration.predictedSlowdown) continue
    fitted = { train: found.train, memory: trial.memoryOf(found.train, moved), restoration, ...(moved && { moved }) }
  }
  return { floor, ...(fitted && { fitted }) }
}

/** Which vectors may be moved. A norm of gradients is summed in an order of its own there, and levels sum what lies on devices. */
export function waysToMove(
  update: OptimiserAttributes,
  levels: readonly unknown[],
  transfers: TransferSpeed | undefined,
  hosts: number
): readonly MovedVectors[] {
  if (!transfers) return [undefined]
  const states = hasStates(update) ? (['states'] as const) : []
  const needsNorms = update.clipNorm !== undefined || update.name === 'lars'
  return [undefined, ...states, ...(needsNorms || levels.length > 0 || hosts > 1 ? [] : (['all'] as const))]
}

/** The step within the limit, or the bytes of the least arena that it can have. */
async function compiledWithin(
  activations: number,
  { compile, speed, transfers }: StepTrial,
  moved: MovedVectors
): Promise<{ readonly train?: Program; readonly floor: number }> {
  try {
    const train = await compile({ activations, speed, transfers }, moved)
    return { train, floor: train.arenas.activations }
  } catch (error) {
    const floor = error instanceof ArbalestError && error.code === 'OUT_OF_MEMORY' ? error.data?.['floor'] : undefined
    if (typeof floor !== 'number') throw error
    return { floor }
  }
}

/** A tuned run begins, or goes on, with no more learners than fit into memory and than it may try, and never has more. */
function withFewerLearners({ settings, budget, hosts }: RunTrial, { need }: RunMemory): RunSettings {
  const { changes, cuts, population } = settings
  const { schedule, tuning } = population
  if (!tuning) return settings
  const fitting = hosts * Math.max(1, budget.mostTuned(need))
  const most = Math.min(tuning.most, fitting)
  // A program may have set more than the tuner tries.
  const allowed = isTuned(changes) ? most : fitting
  // As many on each device, if every device has room for one.
  const even = allowed < tuning.by ? allowed : allowed - (allowed % tuning.by)
  const learners = settings.learners <= allowed ? settings.learners : even
  const { round } = cuts.at(-1) ?? { round: 0 }
  const changed = learners === settings.learners ? schedule : changedAt(schedule, { round, learners })
  return { ...settings, learners, population: { schedule: changed, tuning: { ...tuning, most } } }
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
    `at least ${mebibytes(floor, Math.ceil)}`,
    ...(batch > 1 ? ['a smaller batch, of which optimiser.accumulate takes several in a step'] : []),
    ...(learners > 1 ? ['fewer learners'] : [])
  ]
  const trained = `${learners === 1 ? 'a learner' : `${learners} learners`} with batch ${batch}`
  const message = `deviceMemory: received ${mebibytes(limit, Math.floor)}, within which ${trained} cannot train; use ${fixes.join(', or ')}`
  return new ArbalestError('OUT_OF_MEMORY', message, { data: { limit, floor, batch, learners } })
}
