import type { EngineBackend } from '../../compiler/program.js'
import type { MachineSpeed } from '../../compiler/tiers/cost.js'
import type { TransferSpeed } from '../../compiler/tiers/transfers.js'
import type { Engine } from '../../engine/contract.js'
import { usableCores } from '../../engine/machine.js'
import { invalidOption } from '../../errors.js'
import { measureMemorySpeed, type MemorySpeed } from '../../engine/memory-speed.js'

/** The speeds behind predicted times. Data of up to `cacheBytes` may lie in a cache. */
export interface Speeds extends MachineSpeed {
  readonly measured: { readonly arithmetic: boolean; readonly memory: boolean }
}

/** Speeds to assume instead of measuring them. */
export interface AssumedSpeeds {
  readonly flopsPerSecond?: number | undefined
  readonly bytesPerSecond?: number | undefined
}

/** What a large GPU of today sustains in float32 with tensor cores, and its memory: for what to compute again the ratio alone matters. */
export const GPU: Required<AssumedSpeeds> = { flopsPerSecond: 2e14, bytesPerSecond: 2.5e12 }

/** Of one learner of `threads` threads. Measuring takes 200 ms. */
export function speedsOf(engine: Engine, threads: number, assumed: AssumedSpeeds): Speeds {
  const { flopsPerSecond = Math.min(threads, usableCores()) * engine.measurePeak(), bytesPerSecond: every } = assumed
  const memory: MemorySpeed =
    every === undefined ? measureMemorySpeed() : { bytesPerSecond: every, cacheBytesPerSecond: every, cacheBytes: 0 }
  return { flopsPerSecond, ...memory, measured: { arithmetic: assumed.flopsPerSecond === undefined, memory: every === undefined } }
}

/** The speeds from which a run predicts what computing again costs: measured on cores, assumed for GPUs. */
export function runSpeeds(engine: Engine, { backend, threads }: { readonly backend: EngineBackend; readonly threads: number }): Speeds {
  return speedsOf(engine, threads, engine.capabilities(backend).memory === 'device' ? GPU : {})
}

/** Throws INVALID_OPTION and WRITE_FAILED unless values can be moved to the folder that the user has named. */
export function checkSpill(
  engine: Engine,
  { backend, spill }: { readonly backend: EngineBackend; readonly spill?: string | undefined }
): void {
  if (spill === undefined) return
  if (engine.capabilities(backend).memory === 'device')
    throw invalidOption('spill', spill, `backend ${backend} moves values to the memory of its host: leave it out`)
  engine.measureTransfers(backend, 1, { folder: spill })
}

/** Enough for a disk to show its rate, not that of its cache alone. */
const MEASURED_BYTES = 2 ** 26

/**
 * The rates of the second tier, for each of `learners` learners that share it: pinned memory of the host behind a GPU, a file in the folder `spill` behind
 * cores. Undefined if there is none. Throws INVALID_OPTION and WRITE_FAILED for a folder that cannot have the file.
 */
export function transferSpeed(
  engine: Engine,
  { backend, spill }: { readonly backend: EngineBackend; readonly spill?: string | undefined },
  learners: number
): TransferSpeed | undefined {
  const bothWays = engine.capabilities(backend).memory === 'device'
  if (!bothWays && spill === undefined) return undefined
  const { storeBytesPerSecond, fetchBytesPerSecond } = engine.measureTransfers(backend, MEASURED_BYTES, {
    ...(spill !== undefined && { folder: spill })
  })
  return { storeBytesPerSecond: storeBytesPerSecond / learners, fetchBytesPerSecond: fetchBytesPerSecond / learners, bothWays }
}
