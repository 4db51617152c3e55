import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { ArbalestError, type ErrorCode } from '../errors.js'
import type { LoweringAnswer, LoweringRequest, Program, SegmentName } from '../compiler/program.js'
import type { DatasetSpec, GroupSpec, GroupStatus, Handle, OperatorProfile, ReplicaSpec, ReplicaVector, RunLimits, RunReport } from './contract.js'

/** The calls of native/src/binding/binding.cpp, one for one. */
export interface Addon {
  describe(): { available: boolean; detail: string }
  lower(backend: string, request: LoweringRequest): LoweringAnswer
  bytes(backend: string, shape: readonly number[], type: string, layout: string): number
  createDataset(spec: DatasetSpec): Handle
  createProgram(program: Program): Handle
  createGroup(spec: GroupSpec): Handle
  createReplica(spec: ReplicaSpec): Handle
  release(handle: Handle): void
  bind(replica: Handle, program: Handle, dataset?: Handle): number
  run(replica: Handle, slot: number, limits: RunLimits): RunReport
  runSegment(replica: Handle, slot: number, segment: SegmentName, limits?: RunLimits): void
  cancel(replica: Handle): void
  readValue(replica: Handle, slot: number, name: string): Float32Array | Float64Array | Int32Array
  writeValue(replica: Handle, slot: number, name: string, data: Float32Array | Float64Array | Int32Array): void
  readVector(replica: Handle, which: ReplicaVector): Float32Array | Float64Array
  writeVector(replica: Handle, which: ReplicaVector, data: Float32Array | Float64Array): void
  adopt(replica: Handle, group: Handle): number
  profile(replica: Handle, slot: number): readonly OperatorProfile[]
  join(group: Handle, learner: number): number
  leave(group: Handle, learner: number): number
  evict(group: Handle, learner: number): void
  setRates(group: Handle, fromIteration: number, rates: Float32Array): void
  setRestarts(group: Handle, rounds: readonly number[]): void
  setPause(group: Handle, round: number): void
  setEnd(group: Handle, iterations: number): void
  stop(group: Handle): void
  groupStatus(group: Handle): GroupStatus
  losses(group: Handle, fromIteration: number): Float32Array
  readCentral(group: Handle): Float32Array | Float64Array
  writeCentral(group: Handle, weights: Float32Array | Float64Array): void
  measurePeak(): number
}

/** From dist/src/engine/ and from nowhere else: the addon and its backend libraries lie in the package's native/build. */
const ADDON = new URL('../../../native/build/Release/arbalest.node', import.meta.url)

let loaded: Addon | undefined

/** Loads the addon, once a thread. Throws ENGINE_MISSING. */
export function addon(): Addon {
  if (loaded) return loaded
  try {
    loaded = createRequire(import.meta.url)(fileURLToPath(ADDON)) as Addon
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
    throw new ArbalestError('ENGINE_MISSING', `engine: the native library cannot be loaded (${reason}); run \`npm run setup\``, { cause })
  }
  return loaded
}

/** An addon's error carries its code as a property; what leaves the engine is an ArbalestError. */
export function translated(error: unknown): unknown {
  if (error instanceof Error && !(error instanceof ArbalestError) && 'code' in error && typeof error.code === 'string')
    return new ArbalestError(error.code as ErrorCode, error.message, { cause: error })
  return error
}
