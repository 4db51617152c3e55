import type { EngineBackend } from '../../compiler/program.js'
import type { Engine } from '../../engine/contract.js'
import { freeMemory } from '../../engine/free-memory.js'
import { ArbalestError } from '../../errors.js'
import type { MemoryNeed } from './need.js'
import type { Settings } from '../../options/settings.js'

/** A learner's thread takes this besides its engine memory: the JavaScript heap, and stacks. */
export const THREAD_BYTES = 32 * 2 ** 20

/** The tuner leaves this margin to other processes, since the user has not asked for a number of learners. */
const TUNED_MARGIN = 1.25

/** The memory that a run may take. Its learners are spread evenly over devices of separate memory; what they share lies on each of these. */
export class MemoryBudget {
  /** Bytes on each device. */
  readonly free: number
  /** 1 if all learners use the machine's memory. */
  readonly devices: number

  constructor({ free, devices }: { readonly free: number; readonly devices: number }) {
    this.free = free
    this.devices = devices
  }

  /** The memory that is free now: of the device with the least memory of its own, or of the machine. */
  static now(engine: Engine, { backend, devices: { devices } }: Pick<Settings, 'backend' | 'devices'>): MemoryBudget {
    const separate = hasDeviceMemory(engine, backend) ? devices.length : 1
    return new MemoryBudget({ free: freeMemory(engine, { backend, devices: separate }), devices: separate })
  }

  /** Bytes that data may take: it lies in the machine's memory, and a copy of it in the memory of each device that has one. */
  forData(engine: Engine): number {
    return Math.min(this.free, engine.describe().freeMemory)
  }

  /** How many learners the tuner may try; 0 if not even one fits. */
  mostTuned(need: MemoryNeed): number {
    return this.devices * Math.max(0, Math.floor((this.free - need.shared) / tunedBytes(need)))
  }

  /** Why the tuner may not add `more` learners; undefined if it may. */
  refusal(need: MemoryNeed, more: number): string | undefined {
    const wanted = Math.ceil(more / this.devices) * tunedBytes(need)
    if (wanted <= this.free) return undefined
    return `no memory for ${more} more: ${mebibytes(wanted)} are wanted where ${mebibytes(this.free)} are free`
  }

  /** Throws OUT_OF_MEMORY, with the figures, if a run of `learners` learners does not fit. */
  check({ perLearner, shared }: MemoryNeed, learners: number): void {
    const { free, devices } = this
    const wanted = Math.ceil(learners / devices) * perLearner + shared
    if (wanted <= free) return
    const most = devices * Math.floor((free - shared) / perLearner)
    const fix = most >= 1 ? `use at most ${most}, or a smaller batch` : 'use a smaller batch, model or data set'
    const together = `together ${mebibytes(wanted)}${devices > 1 ? ' on a device' : ''} where ${mebibytes(free)} are free`
    const message = `learners: received ${learners}; each takes ${mebibytes(perLearner)} and all share ${mebibytes(shared)}, ${together}; ${fix}`
    throw new ArbalestError('OUT_OF_MEMORY', message, { data: { learners, perLearner, shared, wanted, free } })
  }
}

/** The learners that train, and how many shall. */
export interface Growth {
  readonly there: number
  readonly wanted: number
}

/**
 * Throws OUT_OF_MEMORY, with the figures, if memory does not hold as many more learners as a program asks for. The figures of rounds
 * may be recorded, of which the engine alone knows: that is counted too.
 */
export function checkGrowth(budget: MemoryBudget, need: MemoryNeed, { there, wanted }: Growth): void {
  const perLearner = need.perLearner + (need.recording ?? 0)
  const more = wanted - there
  const { free, devices } = budget
  const bytes = Math.ceil(more / devices) * perLearner
  if (more <= 0 || bytes <= free) return
  const most = there + devices * Math.floor(free / perLearner)
  const figures = `${more} more than there are take ${mebibytes(bytes)}${devices > 1 ? ' on a device' : ''} where ${mebibytes(free)} are free`
  throw new ArbalestError('OUT_OF_MEMORY', `learners: received ${wanted}; ${figures}; use at most ${most}`, {
    data: { learners: wanted, perLearner, wanted: bytes, free }
  })
}

/**
 * The need, corrected on devices with a memory of their own by what the first learners have really taken: the libraries of GPUs allocate workspaces of
 * sizes that are not known beforehand. `before` is the budget before these learners.
 */
export function measuredNeed(
  engine: Engine,
  settings: Pick<Settings, 'backend' | 'devices' | 'learners'>,
  need: MemoryNeed,
  before: MemoryBudget
): MemoryNeed {
  if (!hasDeviceMemory(engine, settings.backend)) return need
  const taken = before.free - MemoryBudget.now(engine, settings).free
  return { ...need, perLearner: Math.max(need.perLearner, (taken - need.shared) / Math.ceil(settings.learners / before.devices)) }
}

/**
 * Allocates device memory for learners that the tuner will add, before training begins: allocations by the driver may stall all work of a device. Reserves
 * enough to double the learners, but at most half of what is free.
 */
export function reserveGrowth(
  engine: Engine,
  settings: Pick<Settings, 'backend' | 'devices' | 'learners' | 'population'>,
  need: MemoryNeed
): void {
  const { backend, learners, population } = settings
  if (!hasDeviceMemory(engine, backend) || !population.tuning) return
  const { free, devices } = MemoryBudget.now(engine, settings)
  const wanted = Math.ceil(Math.min(learners, population.tuning.most - learners) / devices)
  const more = Math.min(wanted, Math.floor(free / 2 / need.perLearner))
  if (more > 0) engine.reserve(backend, devices, Math.ceil(more * need.perLearner))
}

function hasDeviceMemory(engine: Engine, backend: EngineBackend): boolean {
  return engine.capabilities(backend).memory === 'device'
}

function tunedBytes({ perLearner }: MemoryNeed): number {
  return TUNED_MARGIN * (perLearner + THREAD_BYTES)
}

export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}
