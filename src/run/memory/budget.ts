import type { EngineBackend } from '../../compiler/program.js'
import type { Engine } from '../../engine/contract.js'
import { freeMemory, wholeMemory } from '../../engine/free-memory.js'
import { ArbalestError, mebibytes } from '../../errors.js'
import type { MemoryNeed } from './need.js'
import type { DeviceMemoryLimit } from '../../options/device-memory.js'
import type { Settings } from '../../options/settings.js'

/** A learner's thread takes this besides its engine memory: the JavaScript heap, and stacks. */
export const THREAD_BYTES = 32 * 2 ** 20

/** The tuner leaves this margin to other processes, since the user has not asked for a number of learners. */
const TUNED_MARGIN = 1.25

/** The settings that say what memory a run has. */
export type MemorySettings = Pick<Settings, 'backend' | 'devices'> & { readonly deviceMemory?: DeviceMemoryLimit | undefined }

/** The memory that a run may take. Its learners are spread evenly over devices of separate memory; what they share lies on each of these. */
export class MemoryBudget {
  /** Bytes on each device. */
  readonly free: number
  /** 1 if all learners use the machine's memory. */
  readonly devices: number
  /** The limit that the user has set, in bytes on each device. */
  readonly limit: number | undefined

  constructor({ free, devices, limit }: { readonly free: number; readonly devices: number; readonly limit?: number | undefined }) {
    this.free = Math.min(free, limit ?? Infinity)
    this.devices = devices
    this.limit = limit
  }

  /** The memory that is free now, within the user's limit: of the device with the least memory of its own, or of the machine. */
  static now(engine: Engine, { backend, devices: { devices }, deviceMemory = 'auto' }: MemorySettings): MemoryBudget {
    const separate = hasDeviceMemory(engine, backend) ? devices.length : 1
    const place = { backend, devices: separate }
    const limit =
      deviceMemory === 'auto'
        ? undefined
        : 'bytes' in deviceMemory
          ? deviceMemory.bytes
          : Math.floor(deviceMemory.share * wholeMemory(engine, place))
    return new MemoryBudget({ free: freeMemory(engine, place), devices: separate, limit })
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

  /** The learners of a device, of `learners` in all. */
  ofDevice(learners: number): number {
    return Math.ceil(learners / this.devices)
  }

  /** Whether a run of `learners` learners fits. */
  holds({ perLearner, shared }: MemoryNeed, learners: number): boolean {
    return this.ofDevice(learners) * perLearner + shared <= this.free
  }

  /** Throws OUT_OF_MEMORY, with the figures, if a run of `learners` learners does not fit. */
  check(need: MemoryNeed, learners: number): void {
    if (this.holds(need, learners)) return
    const { free, devices } = this
    const { perLearner, shared } = need
    const wanted = this.ofDevice(learners) * perLearner + shared
    const most = devices * Math.floor((free - shared) / perLearner)
    // The batches of a folder of images that are read ahead are shared.
    const images = shared > free ? '; of a folder of images, images.size or images.prefetch' : ''
    const fix = most >= 1 ? `use at most ${most}, or a smaller batch` : `use a smaller batch, model or data set${images}`
    const there = this.limit === free ? 'allowed by deviceMemory' : 'free'
    const together = `together ${mebibytes(wanted)}${devices > 1 ? ' on a device' : ''} where ${mebibytes(free)} are ${there}`
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
 * Throws OUT_OF_MEMORY, with the figures, if memory does not hold the learners that a program adds. Counts their vectors, their threads, and the figures of
 * rounds where these are recorded.
 */
export function checkGrowth(engine: Engine, settings: MemorySettings, need: MemoryNeed, { there, wanted }: Growth): void {
  const more = wanted - there
  if (more <= 0) return
  const perLearner = need.perLearner + (need.recording ?? 0)
  const { devices, limit } = MemoryBudget.now(engine, settings)
  if (limit !== undefined) new MemoryBudget({ free: limit, devices, limit }).check({ ...need, perLearner }, wanted)
  // The limit is for what the engine allocates.
  const { free } = MemoryBudget.now(engine, { ...settings, deviceMemory: 'auto' })
  const refuse = (each: number, place: { readonly free: number; readonly devices: number }) => {
    const bytes = Math.ceil(more / place.devices) * each
    if (bytes <= place.free) return
    const most = there + place.devices * Math.floor(place.free / each)
    const figures = `${more} more than there are take ${mebibytes(bytes)}${place.devices > 1 ? ' on a device' : ''} where ${mebibytes(place.free)} are free`
    throw new ArbalestError('OUT_OF_MEMORY', `learners: received ${wanted}; ${figures}; use at most ${most}`, {
      data: { learners: wanted, perLearner: each, wanted: bytes, free: place.free }
    })
  }
  if (!hasDeviceMemory(engine, settings.backend)) return refuse(perLearner + THREAD_BYTES, { free, devices })
  refuse(perLearner, { free, devices })
  refuse(THREAD_BYTES, { free: engine.describe().freeMemory, devices: 1 })
}

/**
 * The need, corrected on devices with a memory of their own by what the first learners have really taken: the libraries of GPUs allocate workspaces of
 * sizes that are not known beforehand. `before` is the budget before these learners.
 */
export function measuredNeed(
  engine: Engine,
  settings: MemorySettings & Pick<Settings, 'learners'>,
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
  settings: MemorySettings & Pick<Settings, 'learners' | 'population'>,
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
