import type { Dataset } from '../../data/dataset.js'
import type { Engine } from '../../engine/contract.js'
import { threadLimit, usableCores } from '../../engine/machine.js'
import { invalidOption, mebibytes, together, type ArbalestError } from '../../errors.js'
import { elements } from '../../model/graph.js'
import { MOST_PER_CORE } from '../../options/learners.js'
import { iterationSamples, type Settings } from '../../options/settings.js'
import { threadsExhausted } from '../../runtime/worker-thread.js'
import { mostLearners } from '../../schedules/population.js'
import { MemoryBudget, THREAD_BYTES } from '../memory/budget.js'
import type { MemoryNeed } from '../memory/need.js'

/** A learner's thread takes at least this: its JavaScript heap with the modules that it loads. */
const LEAST_THREAD_BYTES = 8 * 2 ** 20

/** Threads of the process besides the learners'. */
const OTHER_THREADS = 16

/**
 * Throws INVALID_OPTION if this machine cannot hold the learners' threads or a batch's samples, whatever the model is, and LIMIT_REACHED if the system
 * allows no thread for even one learner. If memory is too small for even one thread, the check of the memory need refuses the run later.
 */
export function checkCost(settings: Settings, dataset: Dataset, engine: Engine, limit: number = threadLimit()): void {
  const { batch, threads, population } = settings
  const learners = mostLearners({ schedule: population.schedule })
  const refusals: ArbalestError[] = []
  const memory = engine.describe().freeMemory
  if (threads + OTHER_THREADS > limit) throw threadsExhausted()
  if (learners * threads + OTHER_THREADS > limit) {
    const most = Math.floor((limit - OTHER_THREADS) / threads)
    refusals.push(
      invalidOption('learners', learners, `the system allows ${limit} more threads, and each learner takes ${threads}: use at most ${most}`)
    )
  } else if (LEAST_THREAD_BYTES <= memory && learners * LEAST_THREAD_BYTES > memory)
    refusals.push(
      invalidOption(
        'learners',
        learners,
        `their threads alone take at least ${mebibytes(learners * LEAST_THREAD_BYTES)} where ${mebibytes(memory)} are free: use at most ${Math.floor(memory / LEAST_THREAD_BYTES)}`
      )
    )
  // A limit that is too low is told later, with the least that the run takes.
  const { free, devices } = MemoryBudget.now(engine, { ...settings, deviceMemory: 'auto' })
  const sample = 4 * elements(dataset.sample)
  if (batch * sample > free * devices)
    refusals.push(
      invalidOption(
        'batch',
        batch,
        `its samples alone take ${mebibytes(batch * sample)} where ${mebibytes(free)} are free: use at most ${Math.max(1, Math.floor(free / sample))}`
      )
    )
  if (refusals.length > 0) throw together(refusals as [ArbalestError, ...ArbalestError[]])
}

export interface CostlyRun {
  readonly settings: Settings
  readonly dataset: Dataset
  readonly need: MemoryNeed
}

/** What a run costs beyond what its user may expect, each in one line. */
export function costWarnings({ settings, dataset, need }: CostlyRun, cores = usableCores()): string[] {
  const { threads, population } = settings
  const learners = mostLearners({ schedule: population.schedule })
  const usual = Math.max(1, Math.floor((MOST_PER_CORE * cores) / threads))
  const warnings: string[] = []
  if (learners > usual) {
    const bytes = learners * (need.perLearner + THREAD_BYTES) + need.shared
    warnings.push(
      `learners: ${learners} are ${learners * threads} threads on ${cores} ${cores === 1 ? 'core' : 'cores'} and take about ${mebibytes(bytes)}; more than ${usual} are rarely faster`
    )
  }
  if (threads > cores) {
    const there = cores === 1 ? '1 core' : `${cores} cores`
    warnings.push(`threads: those of a learner are ${threads} on ${there}, where they wait for one another: more than ${cores} are slower`)
  }
  const batch = iterationSamples(settings)
  const samples = dataset.train.count
  if (batch > samples)
    warnings.push(
      `batch: each step of a learner takes ${batch} samples, and there are ${samples}: it has each of them about ${(batch / samples).toFixed(1)} times`
    )
  return warnings
}
