import type { EngineBackend } from '../compiler/program.js'
import { ArbalestError, mebibytes } from '../errors.js'
import type { Engine } from './contract.js'
import { describeCuda } from './cuda.js'
import { totalMemory } from './machine.js'

/** Where memory is allocated: on one device, or an equal share on each of several. */
export interface MemoryPlace {
  readonly backend: EngineBackend
  /** The number of devices; 1 if omitted. */
  readonly devices?: number
  /** The number of the first device; 0 if omitted. */
  readonly device?: number | undefined
}

/** Bytes that may still be allocated there: of the device with the least memory of its own, or of the machine's memory. Throws INVALID_OPTION if a device does not exist. */
export function freeMemory(engine: Engine, { backend, devices = 1, device = 0 }: MemoryPlace): number {
  return engine.freeMemory(backend, devices, device) ?? engine.describe().freeMemory
}

/** All bytes of that place, used or not: of the smallest GPU, or of the machine. */
export function wholeMemory(engine: Engine, { backend, devices = 1, device = 0 }: MemoryPlace): number {
  const cuda = backend === 'cuda' ? describeCuda() : undefined
  if (typeof cuda === 'object') return Math.min(...cuda.devices.slice(device, device + devices).map(({ memory }) => memory))
  return engine.freeMemory(backend, devices, device) ?? totalMemory()
}

/**
 * Throws OUT_OF_MEMORY, with the figures, if `bytes` are more than what is free. Without this check the allocation would succeed, and the system would end
 * the process when the memory is first touched.
 */
export function checkMemory(engine: Engine, bytes: number, { what, ...place }: MemoryPlace & { readonly what: string }): void {
  const free = freeMemory(engine, place)
  if (bytes <= free) return
  const figures = `takes ${mebibytes(bytes)} where ${mebibytes(free)} are free`
  throw new ArbalestError('OUT_OF_MEMORY', `${what}: ${figures}; use a smaller batch or fewer learners`, {
    data: { what, wanted: bytes, free }
  })
}
