import type { Engine } from '../engine/contract.js'
import { isGpu } from '../engine/gpu.js'
import { freeMemory } from '../engine/room.js'
import type { Room } from './memory.js'
import type { Settings } from './settings.js'

/** What is free for the learners of a run: on the GPU that has least of those that it uses, else of the machine's memory. */
export function roomOf(engine: Engine, { backend, devices: { devices } }: Pick<Settings, 'backend' | 'devices'>): Room {
  const gpus = isGpu(backend) ? devices.length : 1
  return { free: freeMemory(engine, { backend, devices: gpus }), devices: gpus }
}

/** What is free for data: it lies in the machine's memory, and on a GPU once more in the GPU's. */
export function roomForData(engine: Engine, { free }: Room): number {
  return Math.min(free, engine.describe().freeMemory)
}
