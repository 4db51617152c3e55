import type { EngineBackend } from '../compiler/program.js'
import { ArbalestError } from '../errors.js'
import type { Engine } from './contract.js'
import { isGpu } from './gpu.js'

/** Where memory is taken: on one device, or on the first few, each of which takes its share. */
export interface Place {
  readonly backend: EngineBackend
  /** How many (1). */
  readonly devices?: number
  /** The number of the first (0). */
  readonly device?: number | undefined
}

/** Bytes that may still be taken there: of the GPU that has least, and else of the machine's memory. Throws INVALID_OPTION where there are not so many. */
export function freeMemory(engine: Engine, { backend, devices = 1, device = 0 }: Place): number {
  const own = isGpu(backend) ? engine.freeMemory(backend, devices, device) : undefined
  return own ?? engine.describe().freeMemory
}

/** Throws OUT_OF_MEMORY where the engine may not take so many bytes more: they would be had at first, and end the process when they are touched. */
export function checkRoom(engine: Engine, bytes: number, { what, ...place }: Place & { readonly what: string }): void {
  const free = freeMemory(engine, place)
  if (bytes <= free) return
  const [wanted, there] = [bytes, free].map((size) => `${(size / 2 ** 20).toFixed(1)} MiB`)
  throw new ArbalestError('OUT_OF_MEMORY', `${what}: takes ${wanted} where ${there} are free; use a smaller batch or fewer learners`, {
    data: { what, wanted: bytes, free }
  })
}
