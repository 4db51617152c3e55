import type { EngineBackend, LoweringAnswer, LoweringRequest, Program, SegmentName } from '../compiler/program.js'
import type { BackendCapabilities, MachineDescription } from './contract/machine.js'
import type { BatchRequest, DatasetSpec, StreamSpec, StreamStatus } from './contract/data.js'
import type { GroupSpec, GroupStatus, LevelSpec } from './contract/groups.js'
import type { Handle } from './contract/handle.js'
import type { MemoryCount, MemorySpec } from './contract/memory.js'
import type {
  ArenasSpec,
  OperatorProfile,
  ReplicaSpec,
  ReplicaVector,
  RunLimits,
  RunOutcome,
  RunReport,
  SegmentLimits
} from './contract/replicas.js'

export type * from './contract/data.js'
export type * from './contract/groups.js'
export type * from './contract/handle.js'
export type * from './contract/machine.js'
export type * from './contract/memory.js'
export type * from './contract/replicas.js'

/** Numbers as they lie in the engine, in canonical order. */
export type ValueArray = Float32Array | Float64Array | Int32Array | Uint8Array

/**
 * What an engine does, as the rest of the system sees it; `contract/` has the words for it. `native.ts` implements it over the addon;
 * `test/fakes/engine.ts` in plain TypeScript, so that every actor can be tested without native code.
 */
export interface Engine {
  /** What the machine and the native libraries offer. */
  describe(): MachineDescription
  /** What the backend can do. Opens its library; throws BACKEND_UNAVAILABLE. */
  capabilities(backend: EngineBackend): BackendCapabilities

  lower(backend: EngineBackend, request: LoweringRequest): LoweringAnswer
  bytes(backend: EngineBackend, shape: readonly number[], type: string, layout: string): number

  /** Copies the samples into engine memory, once for all learners. Throws LABEL_OUT_OF_RANGE, SHAPE_MISMATCH. */
  createDataset(spec: DatasetSpec): Handle
  /** A data set whose batches are made while the learners train; to be bound as one in memory is. */
  createStream(spec: StreamSpec): Handle
  /** Checks the program whole. Throws INVALID_PROGRAM. */
  createProgram(program: Program): Handle
  createGroup(spec: GroupSpec): Handle
  /** A replica belongs to the thread that runs it, and may be made by any. Throws OUT_OF_MEMORY. */
  createReplica(spec: ReplicaSpec): Handle
  /** Memory for the activations of replicas that share it: taken where it is first used. Throws OUT_OF_MEMORY. */
  createArenas(spec: ArenasSpec): Handle
  /** This thread holds the thing no longer. */
  release(handle: Handle): void

  // A stream's feeder: one at a time.
  /** The next batch to make, where there is one and a slot for it: of those that a reader waits for, or of those ahead. */
  nextBatch(stream: Handle, which: 'waited' | 'ahead'): BatchRequest | null
  /** The batch of a turn that `nextBatch` gave out, copied; one that is not wanted any more is passed over. Throws SHAPE_MISMATCH. */
  feedBatch(stream: Handle, turn: number, samples: Uint8Array, labels: Int32Array): void
  /** Calls `wake` in this thread when `nextBatch` may have something; what another feeder was making is given out anew. */
  watchStream(stream: Handle, wake: () => void): void
  streamStatus(stream: Handle): StreamStatus

  // A replica's work.
  /** Makes a program ready on the replica: primitives built, buffers placed. Returns its slot. */
  bind(replica: Handle, program: Handle, dataset?: Handle): number
  /** Runs up to `limits.steps` whole steps, no longer than `limits.milliseconds` or one step, whichever is longer. */
  run(replica: Handle, slot: number, limits: RunLimits): RunReport
  /**
   * One segment of one step, for learners that compose their own. A step begins with the first segment that is run and ends with `update`; in
   * a group its begin and `exchange` may have to wait for the others. Any outcome but `ran` means that the segment has not run: after
   * `waiting` and `paused` call again, after `evicted` and `cancelled` the step is given up.
   */
  runSegment(replica: Handle, slot: number, segment: SegmentName, limits?: SegmentLimits): RunOutcome
  /** Asks a running `run` to return between two operators; callable from any thread. */
  cancel(replica: Handle): void
  /** A named value in canonical order: floats as Float32Array (Float64Array for f64), class numbers as Int32Array, positions as bytes. */
  readValue(replica: Handle, slot: number, name: string): ValueArray
  writeValue(replica: Handle, slot: number, name: string, data: ValueArray): void
  /** The whole parameter vector, or a vector laid out like it, in canonical order. */
  readVector(replica: Handle, which: ReplicaVector): Float32Array | Float64Array
  writeVector(replica: Handle, which: ReplicaVector, data: Float32Array | Float64Array): void
  /**
   * The replica's weights become what the group evaluates: its evaluation average, which lies on the first device, else the central model of its last
   * whole round as the replica's own device has it. Returns that round. Throws INVALID_STATE for a replica that lies elsewhere.
   */
  adopt(replica: Handle, group: Handle): number
  /** Time, runs, flops and bytes of every operator since it was asked last; the first call starts the measuring. */
  profile(replica: Handle, slot: number): readonly OperatorProfile[]

  // A group's life. Everything takes effect at a round's number.
  /**
   * The learner takes part from the returned round on, starting from the central model, or with `resumed` from what its replica was restored to.
   * On its `device`, 0 if left out, it meets that device's learners first; its replica lies there. Throws INVALID_STATE where it already takes part.
   */
  join(group: Handle, learner: number, resumed?: boolean, device?: number): number
  /** The learner is gone: the round that it holds up is completed without it. */
  evict(group: Handle, learner: number): void
  /** Rates of iterations from `fromIteration` on; the last one holds for ever. */
  setLearningRates(group: Handle, fromIteration: number, rates: Float32Array): void
  /** At the start of each of these rounds every learner starts anew from the central model. */
  setRestarts(group: Handle, rounds: readonly number[]): void
  /** Learners finish with this round as the first that is not run; `run` then reports `paused`. Infinity lifts it. */
  setPause(group: Handle, round: number): void
  /** The iteration that is not run any more, at which learners are paused for good; the last round may be a part of a period. */
  setEnd(group: Handle, iterations: number): void
  /** Ends all waiting and running in the group now: `run` reports `cancelled`. */
  stop(group: Handle): void
  groupStatus(group: Handle): GroupStatus
  /** Iterations that a learner has made, those before it joined counted in; the group's own for one that is no member. */
  iterationOf(group: Handle, learner: number): number
  /** Mean loss over the learners of each whole iteration since `fromIteration`; at most the last 65,536 are kept. */
  losses(group: Handle, fromIteration: number): Float32Array
  /** What is evaluated, in canonical order: the evaluation average where the group has one, else the central model. */
  readCentral(group: Handle): Float32Array | Float64Array
  /** Whether the central model, and what is evaluated in its place, have finite numbers alone; a loss that is one does not say so. */
  isFinite(group: Handle): boolean
  /**
   * What the group's rule and levels have done since it was asked last, the newest 4096 spans; the first call starts the recording. Four numbers a
   * span: the level's place from the bottom, or -1 for passes by which the rule averages on the CPU's devices, those of several buckets that overlap in one span; the round; start and end in seconds
   * of the clock that all threads of the machine share.
   */
  averagingSpans(group: Handle): Float64Array
  /** Replaces the central model; only while no learner runs. */
  writeCentral(group: Handle, weights: Float32Array | Float64Array): void

  // What training goes on from. A snapshot is a copy: it may be read in any thread while training goes on.
  /** Of a group whose learners rest. Throws INVALID_STATE while a round is in progress, OUT_OF_MEMORY. */
  captureGroup(group: Handle): Handle
  /** Of a replica between two steps, which is bound to a training step. */
  captureReplica(replica: Handle): Handle
  /** Before anybody joins. Throws SHAPE_MISMATCH where the snapshot is of a group under another rule. */
  restoreGroup(group: Handle, parts: SnapshotContents): void
  /** Once it is bound; the learner then joins `resumed`. Throws SHAPE_MISMATCH where the snapshot is of a replica with another optimiser. */
  restoreReplica(replica: Handle, parts: SnapshotContents): void
  snapshotParts(snapshot: Handle): SnapshotParts
  /** One of its vectors in canonical order. */
  readSnapshot(snapshot: Handle, vector: string): Float32Array | Float64Array

  /** The memory that a group and a replica will take. Allocates nothing. Throws the errors of `createGroup`, and INVALID_PROGRAM. */
  countMemory(spec: MemorySpec): MemoryCount
  /**
   * Bytes that may still be taken of a device's own memory: of so many devices, from the number `first` on, where there is least. Undefined where
   * it is the machine's. Throws INVALID_OPTION where there are not so many.
   */
  freeMemory(backend: EngineBackend, devices: number, first: number): number | undefined
  /**
   * Keeps so many bytes ready on each of the first devices, for what is made there from now on: the driver's own allocations may hold up all that a
   * GPU does. Without effect where the memory is the machine's. Throws OUT_OF_MEMORY.
   */
  reserve(backend: EngineBackend, devices: number, bytes: number): void

  /** The calling thread, and those that it makes from here on, run on these cores only, where the system has such a thing. */
  keepToCores(cores: readonly number[]): void
  /** Returns freed memory to the system: the allocator of the C library keeps what threads that have ended freed. */
  trim(): void
  /** Bytes a second that go into a level of a group that takes so many parts of so many bytes, a device's each: the best of a few passages. */
  measureLevel(backend: EngineBackend, level: LevelSpec, parts: number, bytes: number): number

  /** Sustained floating-point operations a second of one thread's fused multiply-adds, measured for about 100 ms. */
  measurePeak(): number
}

/** The names of a snapshot's vectors, and its counts: of a group `round`, `position`, and `fresh.<learner>`, 1 for a member yet to begin. */
export interface SnapshotParts {
  readonly vectors: readonly string[]
  readonly counts: Readonly<Record<string, number>>
}

/** Each vector in canonical order. */
export interface SnapshotContents {
  readonly vectors: Readonly<Record<string, Float32Array | Float64Array>>
  readonly counts: Readonly<Record<string, number>>
}

/** The engine of this thread: the export `engine` of the module at this address. An actor is given the address, because an engine cannot be posted. */
export async function loadEngine(module: string): Promise<Engine> {
  return ((await import(module)) as { engine: Engine }).engine
}
