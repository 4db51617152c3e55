import type { BackendName, LoweringAnswer, LoweringRequest, ParameterLayout, Precision, Program, SegmentName } from '../compiler/program.js'

/**
 * What an engine does, as the rest of the system sees it. `native.ts` implements it over the addon; `test/fakes/engine.ts` in plain
 * TypeScript, so that every actor can be tested without native code.
 *
 * Everything is named by a handle, a plain number that may be posted to another thread: the thing behind it stays in the engine, is
 * shared by all threads of the process, and goes when every thread that holds it has released it or ended.
 */
export type Handle = number & { readonly __handle?: unique symbol }

export type ValueArray = Float32Array | Float64Array | Int32Array | Uint8Array

export interface Engine {
  /** What the machine and the native libraries offer. */
  describe(): MachineDescription

  lower(backend: BackendName, request: LoweringRequest): LoweringAnswer
  bytes(backend: BackendName, shape: readonly number[], type: string, layout: string): number

  /** Copies the samples into engine memory, once for all learners. Throws LABEL_OUT_OF_RANGE, SHAPE_MISMATCH. */
  createDataset(spec: DatasetSpec): Handle
  /** Checks the program whole. Throws INVALID_PROGRAM. */
  createProgram(program: Program): Handle
  createGroup(spec: GroupSpec): Handle
  /** A replica belongs to the thread that runs it, and may be made by any. Throws OUT_OF_MEMORY. */
  createReplica(spec: ReplicaSpec): Handle
  /** This thread holds the thing no longer. */
  release(handle: Handle): void

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
  /** The replica's weights become the group's central model of its last whole round. Returns that round. */
  adopt(replica: Handle, group: Handle): number
  /** Time, runs, flops and bytes of every operator since it was asked last; the first call starts the measuring. */
  profile(replica: Handle, slot: number): readonly OperatorProfile[]

  // A group's life. Everything takes effect at a round's number.
  /** The learner takes part from the returned round on, starting from the central model. Throws INVALID_STATE where it already does. */
  join(group: Handle, learner: number): number
  /** The learner's last round is the one before the returned one. */
  leave(group: Handle, learner: number): number
  /** The learner is gone: the round that it holds up is completed without it. */
  evict(group: Handle, learner: number): void
  /** Rates of iterations from `fromIteration` on; the last one holds for ever. */
  setRates(group: Handle, fromIteration: number, rates: Float32Array): void
  /** At the start of each of these rounds every learner starts anew from the central model. */
  setRestarts(group: Handle, rounds: readonly number[]): void
  /** Learners finish with this round as the first that is not run; `run` then reports `paused`. Infinity lifts it. */
  setPause(group: Handle, round: number): void
  /** The iteration that is not run any more, at which learners are paused for good; the last round may be a part of a period. */
  setEnd(group: Handle, iterations: number): void
  /** Ends all waiting and running in the group now: `run` reports `cancelled`. */
  stop(group: Handle): void
  groupStatus(group: Handle): GroupStatus
  /** Mean loss over the learners of each whole iteration since `fromIteration`; at most the last 65,536 are kept. */
  losses(group: Handle, fromIteration: number): Float32Array
  readCentral(group: Handle): Float32Array | Float64Array
  /** Replaces the central model; only while no learner runs. */
  writeCentral(group: Handle, weights: Float32Array | Float64Array): void

  /** Sustained floating-point operations a second of one thread's fused multiply-adds, measured for about 100 ms. */
  measurePeak(): number
}

export interface MachineDescription {
  readonly processor: string
  /** Of avx2, fma, avx512f, avx512_bf16, amx_bf16, ...: those that matter here. */
  readonly features: readonly string[]
  /** Cores this process may use: affinity and cgroup limits counted in. */
  readonly cores: number
  /** Bytes that this process may still take: the machine's and the cgroup's limits counted in. */
  readonly freeMemory: number
  readonly backends: readonly BackendDescription[]
}

export interface BackendDescription {
  readonly name: BackendName
  readonly available: boolean
  /** Why it is not available and the mend, or its library's version. */
  readonly detail: string
  readonly precisions: readonly Precision[]
}

export interface DatasetSpec {
  readonly count: number
  /** One sample's shape: (C, H, W) or (F). */
  readonly sample: readonly number[]
  /** (count, ...sample): pixels 0 to 255 as bytes, or floats taken as they are. */
  readonly samples: Uint8Array | Float32Array
  /** Class numbers (count), each below `classes`. */
  readonly labels?: Int32Array
  readonly classes?: number
  /** Instead of labels: (count, ...target). */
  readonly target?: readonly number[]
  readonly targets?: Float32Array
}

export interface GroupSpec {
  readonly backend: BackendName
  readonly layout: ParameterLayout
  /** The first central model, canonical. */
  readonly initial: Float32Array | Float64Array
  /** Samples a learner takes in an iteration. */
  readonly batch: number
  /** Iterations of a round (tau): corrections are made in a round's last one. */
  readonly period: number
  /** null: min(1/k, 1/2), taken anew when k changes. */
  readonly alpha: number | null
  /** The central model's momentum (mu). */
  readonly syncMomentum: number
}

export interface ReplicaSpec {
  readonly backend: BackendName
  readonly layout: ParameterLayout
  readonly threads: number
  readonly seed: number
  /** The group in which it trains, and as whom; absent for evaluation. */
  readonly group?: Handle
  readonly learner?: number
}

export interface RunLimits {
  readonly steps: number
  readonly milliseconds: number
  /** Where the first batch begins in the sequence of samples; only for a replica without a group. */
  readonly position?: number
  /** Learning rate of `update`; in a group it takes the place of the group's own. */
  readonly rate?: number
}

export interface SegmentLimits extends Omit<RunLimits, 'steps'> {
  /** The numbers of the samples that `load` takes, one for each of the batch, in the place of those whose turn it is. */
  readonly samples?: readonly number[]
}

/**
 * - `ran`: as many steps as asked for, or time was up.
 * - `waiting`: in the middle of a step, for the rest of the group; call again to go on.
 * - `paused`: the group's pause round is reached.
 * - `evicted`: no longer a member.
 * - `cancelled`: by `cancel` or `stop`.
 */
export type RunOutcome = 'ran' | 'waiting' | 'paused' | 'evicted' | 'cancelled'

export interface RunReport {
  readonly outcome: RunOutcome
  readonly steps: number
  /** Sums over the steps of the mean loss and of the correctly classified samples. */
  readonly lossSum: number
  readonly correctSum: number
  /** Seconds computing and waiting for the group. */
  readonly busySeconds: number
  readonly waitSeconds: number
}

export type ReplicaVector = 'weights' | 'gradients' | 'velocity'

export interface GroupStatus {
  /** Whole rounds behind the central model. */
  readonly round: number
  /** Iterations whose losses are whole. */
  readonly iterations: number
  /** Samples handed out: the position at which the next round begins. */
  readonly position: number
  readonly members: readonly number[]
  /** Members that have arrived in the round in progress. */
  readonly arrived: readonly number[]
  /** The first iteration in which a learner's loss was not a finite number, or -1. */
  readonly notFiniteAt: number
}

export interface OperatorProfile {
  readonly segment: SegmentName
  readonly kind: string
  readonly name: string
  readonly implementation: string
  readonly runs: number
  readonly seconds: number
  /** Of one run. */
  readonly flops: number
  /** Read and written by one run. */
  readonly bytes: number
}
