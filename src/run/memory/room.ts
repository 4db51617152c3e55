import type { Engine } from '../../engine/contract.js'
import { isGpu } from '../../engine/gpu.js'
import { freeMemory } from '../../engine/free-memory.js'
import { ArbalestError } from '../../errors.js'
import type { MemoryNeed } from './memory.js'
import type { Settings } from '../../options/settings.js'

/** Where learners may be: so many bytes that are free on each of the devices that have memory of their own, among which they are spread. */
export interface Room {
  readonly free: number
  /** 1 where all share the machine's. */
  readonly devices: number
}

/** What is free for the learners of a run: on the GPU that has least of those that it uses, else of the machine's memory. */
export function roomOf(engine: Engine, { backend, devices: { devices } }: Pick<Settings, 'backend' | 'devices'>): Room {
  const gpus = isGpu(backend) ? devices.length : 1
  return { free: freeMemory(engine, { backend, devices: gpus }), devices: gpus }
}

/** What is free for data: it lies in the machine's memory, and on a GPU once more in the GPU's. */
export function roomForData(engine: Engine, { free }: Room): number {
  return Math.min(free, engine.describe().freeMemory)
}

/** What the thread of a learner takes beside the engine: its JavaScript heap, and stacks. */
const THREAD_BYTES = 32 * 2 ** 20

/** Who is tuned leaves a quarter of what its learners take to others: nobody has asked for so many. */
const MARGIN = 1.25

function tunedBytes({ perLearner }: MemoryNeed): number {
  return MARGIN * (perLearner + THREAD_BYTES)
}

/** How many learners a run that is tuned may have; 0 where not even one fits. */
export function roomFor(need: MemoryNeed, { free, devices }: Room): number {
  return devices * Math.max(0, Math.floor((free - need.shared) / tunedBytes(need)))
}

/** Why so many learners more do not fit into what is free now; undefined where they do. */
export function refusalOf(need: MemoryNeed, more: number, { free, devices }: Room): string | undefined {
  const wanted = Math.ceil(more / devices) * tunedBytes(need)
  if (wanted <= free) return undefined
  return `no memory for ${more} more: ${mebibytes(wanted)} are wanted where ${mebibytes(free)} are free`
}

/**
 * On GPUs, whose libraries take workspaces that nobody knows beforehand: what the first learners have really taken, where that is more. `before`: as it
 * was without them.
 */
export function provenNeed(
  engine: Engine,
  settings: Pick<Settings, 'backend' | 'devices' | 'learners'>,
  need: MemoryNeed,
  before: Room
): MemoryNeed {
  if (!isGpu(settings.backend)) return need
  const taken = before.free - roomOf(engine, settings).free
  return { ...need, perLearner: Math.max(need.perLearner, (taken - need.shared) / Math.ceil(settings.learners / before.devices)) }
}

/**
 * Before a run that is tuned begins to train on GPUs: what as many learners again as it begins with will take is kept ready, as far as half of what is
 * free holds them. Growth then takes nothing from the driver, whose allocations may hold up all that a GPU does.
 */
export function reserveGrowth(
  engine: Engine,
  settings: Pick<Settings, 'backend' | 'devices' | 'learners' | 'population'>,
  need: MemoryNeed
): void {
  const { backend, learners, population } = settings
  if (!isGpu(backend) || !population.tuning) return
  const { free, devices } = roomOf(engine, settings)
  const wanted = Math.ceil(Math.min(learners, population.tuning.most - learners) / devices)
  const more = Math.min(wanted, Math.floor(free / 2 / need.perLearner))
  if (more > 0) engine.reserve(backend, devices, Math.ceil(more * need.perLearner))
}

/** Throws OUT_OF_MEMORY, with the figures, where the run would not fit. */
export function checkMemory({ perLearner, shared }: MemoryNeed, learners: number, { free, devices }: Room): void {
  const wanted = Math.ceil(learners / devices) * perLearner + shared
  if (wanted <= free) return
  const most = devices * Math.floor((free - shared) / perLearner)
  const mend = most >= 1 ? `use at most ${most}, or a smaller batch` : 'use a smaller batch, model or data set'
  const together = `together ${mebibytes(wanted)}${devices > 1 ? ' on a device' : ''} where ${mebibytes(free)} are free`
  const message = `learners: received ${learners}; each takes ${mebibytes(perLearner)} and all share ${mebibytes(shared)}, ${together}; ${mend}`
  throw new ArbalestError('OUT_OF_MEMORY', message, { data: { learners, perLearner, shared, wanted, free } })
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}
