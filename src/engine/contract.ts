import type { BackendName, LoweringAnswer, LoweringRequest, ParameterLayout, Precision, Program, SegmentName } from '../compiler/program.js'
import type { Attributes } from '../model/graph.js'

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
  /** A data set whose batches are made while the learners train; to be bound as one in memory is. */
  createStream(spec: StreamSpec): Handle
  /** Checks the program whole. Throws INVALID_PROGRAM. */
  createProgram(program: Program): Handle
  createGroup(spec: GroupSpec): Handle
  /** A replica belongs to the thread that runs it, and may be made by any. Throws OUT_OF_MEMORY. */
  createReplica(spec: ReplicaSpec): Handle
  /** Memory for the activations of replicas that share it: taken where it is first used. Throws OUT_OF_MEMORY. */
  createArenas(spec: ArenasSpec): Handle
  /** How many of them have been used so far: the others have taken no memory. */
  arenasTouched(arenas: Handle): number
  /** This thread holds the thing no longer. */
  release(handle: Handle): void

  // A stream's feeder: one at a time.
  /** The next batch to make, where there is one and a slot for it: of those that a reader waits for, or of those ahead. */
  nextBatch(stream: Handle, which: 'waited' | 'ahead'): BatchRequest | null
  /** The batch at a position that `nextBatch` gave out, copied; one that is not wanted any more is passed over. Throws SHAPE_MISMATCH. */
  feedBatch(stream: Handle, position: number, samples: Uint8Array, labels: Int32Array): void
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
  /** The replica's weights become the group's central model of its last whole round. Returns that round. */
  adopt(replica: Handle, group: Handle): number
  /** Time, runs, flops and bytes of every operator since it was asked last; the first call starts the measuring. */
  profile(replica: Handle, slot: number): readonly OperatorProfile[]

  // A group's life. Everything takes effect at a round's number.
  /**
   * The learner takes part from the returned round on, starting from the central model, or with `resumed` from what its replica was restored to.
   * On its `device`, 0 if left out, it meets that device's learners first. Throws INVALID_STATE where it already takes part.
   */
  join(group: Handle, learner: number, resumed?: boolean, device?: number): number
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
  /** What is evaluated, in canonical order: the evaluation average where the group has one, else the central model. */
  readCentral(group: Handle): Float32Array | Float64Array
  /** The central model of the last whole round as a device has it: the same on all, bit for bit. */
  readDeviceCentral(group: Handle, device: number): Float32Array | Float64Array
  /**
   * What the group's levels have done since it was asked last, the newest 4096 spans; the first call starts the recording. Four numbers a span:
   * the level's place from the bottom, the round, start and end in seconds of the clock that all threads of the machine share.
   */
  levelSpans(group: Handle): Float64Array
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

  /** The calling thread, and those that it makes from here on, run on these cores only, where the system has such a thing. */
  keepToCores(cores: readonly number[]): void
  /** Bytes a second that go into a level of a group that takes so many parts of so many bytes: the best of a few passages. */
  measureLevel(backend: BackendName, level: LevelSpec, parts: number, bytes: number): number

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

/** Samples in memory and what is to be learnt of them: labels, targets, or the next token. */
export interface DatasetSpec {
  readonly count: number
  /** One sample's shape: (C, H, W), (T, F), (F), or (T) tokens. */
  readonly sample: readonly number[]
  /** (count, ...sample): pixels 0 to 255 as bytes, floats taken as they are, or token ids. */
  readonly samples: Uint8Array | Float32Array | Int32Array
  /**
   * The samples are windows of one row of tokens, each below `classes`, instead: sample i begins `stride` * i tokens on, and its target is the
   * same window one token on. Shuffled, they all move by a number of tokens below the stride, another one every epoch, as far as there are any.
   */
  readonly stride?: number
  /** Class numbers (count), each below `classes`. */
  readonly labels?: Int32Array
  readonly classes?: number
  /** Instead of labels: (count, ...target). */
  readonly target?: readonly number[]
  readonly targets?: Float32Array
}

/** Where batches come from that are made outside of the engine. Which batch a reader gets depends on its position alone. */
export interface StreamSpec {
  /** Samples of the data set. */
  readonly count: number
  /** One sample's shape: (C, H, W) or (F), in bytes. */
  readonly sample: readonly number[]
  readonly classes: number
  /** Samples of the usual batch. */
  readonly batch: number
  /** Batches that are kept: those ahead of the readers, and those that were read until their slots are wanted. */
  readonly slots: number
  /** The first position and the one after the last, read again and again; endless from 0 on if left out. */
  readonly range?: readonly [number, number]
}

/** A batch to make: `count` samples from `position` on, or those of the data set that `samples` numbers. */
export interface BatchRequest {
  readonly position: number
  readonly count: number
  readonly samples?: readonly number[]
}

export interface StreamStatus {
  /** Slots whose batch is being made, is ready, is being read. */
  readonly filling: number
  readonly ready: number
  readonly taken: number
  /** Readers without their batch. */
  readonly waiting: number
  /** Batches read so far, and the seconds that all readers have waited for them. */
  readonly batches: number
  readonly waitSeconds: number
}

export interface GroupSpec {
  readonly backend: BackendName
  readonly layout: ParameterLayout
  /** The first central model, canonical. */
  readonly initial: Float32Array | Float64Array
  /** Samples a learner takes in an iteration. */
  readonly batch: number
  readonly rule: GroupRule
  /** The learners' optimiser, as their programs' `update` has it: for the rule that takes gradients. */
  readonly optimiser?: Attributes
  /** What is evaluated, saved and exported in the place of the central model. */
  readonly average?: EvaluationAverage
  /** Each has its own copy of the central model; 1 if left out. */
  readonly devices?: number
  /** By which the devices' sums become one, from the bottom; `devices` is among them where there are several. Of synchronous rules only. */
  readonly levels?: readonly LevelSpec[]
}

/**
 * A level of the all-reduce: the devices of this process, or hosts, of which this one is the only one: what would go to the others comes back after
 * `latency` seconds.
 */
export type LevelSpec = { readonly kind: 'devices' } | { readonly kind: 'loopback'; readonly latency: number }

/** How a group keeps its learners together. */
export type GroupRule = SynchronousRule | AsynchronousRule

/** Learners meet at every round's end. */
export interface SynchronousRule {
  readonly kind: 'synchronous'
  readonly central: CentralRule
  /** Whether learners begin every round at the central model; else they go on with their own weights. */
  readonly adopts: boolean
  /** Iterations of a round (tau). */
  readonly period: number
  /** Iterations before this one make a round each. */
  readonly from: number
}

/**
 * What learners bring to a round's end, and what becomes of the central model z, which is z' afterwards:
 *
 * - `sma`: corrections c = alpha (w - z) of the weights before the round's last update, which the learners make too, w' = w - step - c;
 *   z' = z + sum c + momentum (z - the z of the round before). `alpha` null: min(1/k, 1/2), taken anew when k changes. In `lockstep` all of this is
 *   one pass over all vectors, when the last learner has come; until then the others' weights are those before the step. Of groups without levels.
 * - `outer`: weights. D = z - mean w is a gradient to momentum SGD: u' = momentum u + D, z' = z - rate (nesterov ? D + momentum u' : u').
 *   `perRate`: D is divided by the learners' rate, and the step multiplied by it.
 * - `mean`: weights. z' is the mean of mean w over all rounds from iteration `from` on, and mean w itself before.
 * - `optimiser`: gradients, in every iteration. The optimiser takes one step on z with their mean, and the learners have none of their own;
 *   it wants `adopts` and a period of 1.
 */
export type CentralRule =
  | { readonly kind: 'sma'; readonly alpha: number | null; readonly momentum: number; readonly lockstep?: boolean }
  | { readonly kind: 'outer'; readonly rate: number; readonly momentum: number; readonly nesterov: boolean; readonly perRate: boolean }
  | { readonly kind: 'mean'; readonly from: number }
  | { readonly kind: 'optimiser' }

/** Learners meet the central model whenever they come to it. */
export interface AsynchronousRule {
  readonly kind: 'asynchronous'
  /**
   * - `push`: a learner adds all its updates since the last time to the central model every `push` of its iterations, and takes the central
   *   model for its own every `fetch`.
   * - `inPlace`: learners train the central model itself, without locks.
   */
  readonly exchange: { readonly kind: 'push'; readonly push: number; readonly fetch: number } | { readonly kind: 'inPlace' }
  /** No learner begins an iteration when it is more than this many ahead of the slowest; null: never mind. */
  readonly slack: number | null
  /** A round is so many iterations times the learners at its start, whoever makes them. */
  readonly period: number
}

/**
 * An average of the central model, taken at the end of each round in which the samples handed out come to `from` plus a multiple of `every`.
 * `ema`: decay e + (1 - decay) z; `swa`: the mean of all that were taken; `lawa`: of the last `window`. Until the first is taken it is z.
 */
export type EvaluationAverage = { readonly from: number; readonly every: number } & (
  { readonly kind: 'ema'; readonly decay: number } | { readonly kind: 'swa' } | { readonly kind: 'lawa'; readonly window: number }
)

export interface ReplicaSpec {
  readonly backend: BackendName
  readonly layout: ParameterLayout
  readonly threads: number
  readonly seed: number
  /** The group in which it trains, and as whom; absent for evaluation. */
  readonly group?: Handle
  readonly learner?: number
  /**
   * Its activations lie in one of these while `run` computes, and nowhere while it waits: their values cannot be read. Whoever runs segments,
   * writes values or binds a second program has activations of its own from then on.
   */
  readonly arenas?: Handle
}

/** So many arenas as replicas shall compute at once; others wait for their turn. */
export interface ArenasSpec {
  readonly backend: BackendName
  /** Of one: what the program of the replicas wants. */
  readonly bytes: number
  readonly count: number
}

export interface RunLimits {
  readonly steps: number
  readonly milliseconds: number
  /** Where the first batch begins in the sequence of samples; only for a replica without a group. */
  readonly position?: number
  /** Learning rate of `update`; in a group it takes the place of the group's own, but for a group that has the optimiser. */
  readonly rate?: number
}

export interface SegmentLimits extends Omit<RunLimits, 'steps'> {
  /** The numbers of the samples that `load` takes, one for each of the batch, in the place of those whose turn it is. */
  readonly samples?: readonly number[]
}

/**
 * - `ran`: as many steps as asked for, or time was up.
 * - `waiting`: in the middle of a step, for the rest of the group or for data; call again to go on.
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
  /** Seconds computing, waiting for the group and waiting for a stream's batch. */
  readonly busySeconds: number
  readonly waitSeconds: number
  readonly dataSeconds: number
}

/** Under SGD with momentum there is a velocity, under Adam there are two moments; none where the group has the optimiser. */
export type ReplicaVector = 'weights' | 'gradients' | 'velocity' | 'firstMoment' | 'secondMoment'

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
