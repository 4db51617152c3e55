import { importModule } from '../own-module.js'
import { refuseBundle } from '../package-version.js'
import type { EngineBackend, LoweringAnswer, LoweringRequest, ParameterLayout, Program, SegmentName } from '../compiler/program.js'
import type { BackendCapabilities, MachineDescription } from './contract/machine.js'
import type { BatchRequest, DatasetSpec, StreamSpec, StreamStatus } from './contract/data.js'
import type {
  Departure,
  GroupSpec,
  GroupStatus,
  LevelSpec,
  RatedLinkSpec,
  RoundFigures,
  RuleChange,
  SynchronousRule
} from './contract/groups.js'
import type { Handle } from './contract/handle.js'
import type { HostsPlace, HostsSpec, LinkFigures, RefusedMessages } from './contract/hosts.js'
import type { MemoryCount, MemorySpec } from './contract/memory.js'
import type {
  ArenasSpec,
  LeaseFigures,
  LeaseSpec,
  LeaseTurns,
  HostTierSpec,
  MovedVectorsSpec,
  OperatorProfile,
  ReplicaSpec,
  ReplicaVector,
  RunLimits,
  RunOutcome,
  RunReport,
  SegmentLimits,
  TransferRates
} from './contract/replicas.js'

export type * from './contract/data.js'
export type * from './contract/groups.js'
export type * from './contract/handle.js'
export type * from './contract/hosts.js'
export type * from './contract/machine.js'
export type * from './contract/memory.js'
export type * from './contract/replicas.js'

/** Numbers of the engine, in canonical order. */
export type ValueArray = Float32Array | Float64Array | Int32Array | Uint8Array

/**
 * The interface of the engine; `contract/` has the types of its calls. `native.ts` implements it over the addon, and `test/fakes/engine.ts` in plain
 * TypeScript, so that every actor can be tested without native code.
 */
export interface Engine {
  /** The machine and the backends that are available on it. */
  describe(): MachineDescription
  /** What the backend can do. Opens its library; throws BACKEND_UNAVAILABLE. */
  capabilities(backend: EngineBackend): BackendCapabilities

  /** How a backend would run an operator. Throws UNSUPPORTED_OPERATOR, UNSUPPORTED_PRECISION. */
  lower(backend: EngineBackend, request: LoweringRequest): LoweringAnswer
  /** The bytes of a tensor in a layout of the backend. */
  bytes(backend: EngineBackend, shape: readonly number[], type: string, layout: string): number

  /** Copies the samples into engine memory, once for all learners. Throws LABEL_OUT_OF_RANGE, SHAPE_MISMATCH. */
  createDataset(spec: DatasetSpec): Handle
  /** A data set whose batches are made while the learners train. It is bound in the same way as a data set in memory. */
  createStream(spec: StreamSpec): Handle
  /** Checks the whole program. Throws INVALID_PROGRAM. */
  createProgram(program: Program): Handle
  /** A link between hosts that exists in time alone, for levels of kind `loopback`. Throws INVALID_OPTION. */
  createRatedLink(spec: RatedLinkSpec): Handle
  /** A group of learners around a central model. Throws INVALID_OPTION, OUT_OF_MEMORY. */
  createGroup(spec: GroupSpec): Handle
  /** The buckets in which a group with levels sums its vectors, in the order in which they are started: the first element of each, and the one behind its last. */
  levelBuckets(layout: ParameterLayout, rule: SynchronousRule): Float64Array
  /** A replica may be made by any thread, and is run by one. Throws OUT_OF_MEMORY. */
  createReplica(spec: ReplicaSpec): Handle
  /** Memory for the activations of replicas that share it. The system provides it when it is first used. Throws OUT_OF_MEMORY. */
  createArenas(spec: ArenasSpec): Handle
  /** The second tier of vectors that are laid out like the parameters. Throws OUT_OF_MEMORY. */
  createMovedVectors(spec: MovedVectorsSpec): Handle
  /** The turns of several jobs on the device that they share. Throws INVALID_OPTION. */
  createLease(spec: LeaseSpec): Handle
  /** From the next turn on. Throws INVALID_OPTION. */
  setLease(lease: Handle, turns: LeaseTurns): void
  /** One for each job. */
  leaseFigures(lease: Handle): LeaseFigures[]
  /**
   * The job's turns since the last call: start and end of each, in seconds on the clock of `averagingSpans`. They are recorded from the first call on.
   */
  leaseSpans(lease: Handle, job: number): Float64Array
  /** The job whose turn it is; -1 if it is no job's. */
  leaseHolder(lease: Handle): number
  /** This thread no longer holds the object. */
  release(handle: Handle): void

  // Of a stream's feeder. A stream has one feeder at a time.
  /** The next batch to make: one that a reader waits for, or one ahead of the readers. Null if there is none, or no slot for it. */
  nextBatch(stream: Handle, which: 'waited' | 'ahead'): BatchRequest | null
  /** Copies the batch of a turn that `nextBatch` gave out. A batch that is no longer needed is ignored. Throws SHAPE_MISMATCH, LABEL_OUT_OF_RANGE. */
  feedBatch(stream: Handle, turn: number, samples: Uint8Array, targets: Int32Array | Float32Array): void
  /** Calls `wake` in this thread when `nextBatch` may have a batch. Batches that another feeder was making are given out again. */
  watchStream(stream: Handle, wake: () => void): void
  /** How many batches of a stream are made, ready and read. */
  streamStatus(stream: Handle): StreamStatus

  // Of a replica.
  /** Makes a program ready to run on the replica: builds its primitives and places its buffers. Returns its slot. */
  bind(replica: Handle, program: Handle, dataset?: Handle): number
  /** Runs up to `limits.steps` whole steps, no longer than `limits.milliseconds` or one step, whichever is longer. */
  run(replica: Handle, slot: number, limits: RunLimits): RunReport
  /**
   * Runs one segment of a step, for learners that compose their own steps. A step begins with the first segment that is run and ends with `update`. In a
   * group the beginning and `exchange` may have to wait for the other learners. The segment has run only if the outcome is `ran`: after `waiting` or
   * `paused` call again; after `evicted` or `cancelled` the step is lost.
   */
  runSegment(replica: Handle, slot: number, segment: SegmentName, limits?: SegmentLimits): RunOutcome
  /** Asks a running `run` to return between two operators. Any thread may call it. */
  cancel(replica: Handle): void
  /** A named value in canonical order: floats as Float32Array (Float64Array for f64), class numbers as Int32Array, positions as bytes. */
  readValue(replica: Handle, slot: number, name: string): ValueArray
  /** Overwrites a named value, given as `readValue` returns it. Throws SHAPE_MISMATCH. */
  writeValue(replica: Handle, slot: number, name: string, data: ValueArray): void
  /** The whole parameter vector, or a vector laid out like it, in canonical order. */
  readVector(replica: Handle, which: ReplicaVector): Float32Array | Float64Array
  /** Overwrites a vector, given as `readVector` returns it. Throws SHAPE_MISMATCH. */
  writeVector(replica: Handle, which: ReplicaVector, data: Float32Array | Float64Array): void
  /**
   * Copies the model that the group evaluates into the replica's weights: the evaluation average, which is on the first device, or the replica's device's
   * copy of the central model of the last whole round; on a device that the group does not have, the first device's. Returns the number of that round. Throws
   * INVALID_PROGRAM for a replica of another layout.
   */
  adopt(replica: Handle, group: Handle): number
  /** Time, runs, flops and bytes of every operator since the last call. The first call starts the measurement. */
  profile(replica: Handle, slot: number): readonly OperatorProfile[]

  // Of a group. Every change takes effect at the number of a round.
  /**
   * The learner is a member from the returned round on; over hosts that rest before it, from the round in which they go on. It starts from the central
   * model or, with `resumed`, from the restored state of its replica. Its replica is on `device` (0 if omitted), where its contributions are first summed
   * with those of the device's other learners. Throws INVALID_STATE if it is a member already.
   */
  join(group: Handle, learner: number, resumed?: boolean, device?: number): number
  /**
   * Ends the learner's membership. The round that waits for it is completed without it. Returns how it has left, now or before; null for one that was no
   * member, for asynchronous rules, and over hosts. A learner that leaves before anybody has entered the round of `planned`, where it should have left
   * within that round, leaves as planned.
   */
  evict(group: Handle, learner: number, planned?: Departure): Departure | null
  /**
   * The learner shall leave in the next round as another has left, bit for bit: then `run` reports `evicted`, and `evict` ends its membership. Throws
   * INVALID_STATE while a round is in progress and where `evict` returns null, INVALID_OPTION for a departure between two rounds or from another one.
   */
  depart(group: Handle, learner: number, departure: Departure): void
  /** The learning rates of the iterations from `fromIteration` on. The last rate is also that of all later iterations. */
  setLearningRates(group: Handle, fromIteration: number, rates: Float32Array): void
  /** At the start of each of these rounds every learner restarts from the central model, with a new optimiser. */
  setRestarts(group: Handle, rounds: readonly number[]): void
  /** The first round that the learners do not run: there `run` reports `paused`. Infinity removes the pause. */
  setPause(group: Handle, round: number): void
  /** Moves the pause on to a later round. Returns false, and changes nothing, if all learners have reached it: some may have been told already. */
  extendPause(group: Handle, round: number): boolean
  /** The number of iterations after which the learners are paused for good. The last round may be shorter than a period. */
  setEnd(group: Handle, iterations: number): void
  /** Changes the rule from the next round on. Throws INVALID_STATE while a round is in progress, INVALID_OPTION for what the rule does not have or take. */
  setRule(group: Handle, change: RuleChange): void
  /** Ends all waiting and running in the group now: `run` reports `cancelled`. */
  stop(group: Handle): void
  /** How far a group is, and its members. */
  groupStatus(group: Handle): GroupStatus
  /** The iterations of a learner, including those of the run before it joined; for a learner that is not a member, the iterations of the group. */
  iterationOf(group: Handle, learner: number): number
  /** The mean loss over the learners of each whole iteration since `fromIteration`. The last 65,536 are kept. */
  losses(group: Handle, fromIteration: number): Float32Array
  /** The model that is evaluated, in canonical order: the evaluation average if the group has one, otherwise the central model. */
  readCentral(group: Handle): Float32Array | Float64Array
  /** Whether all numbers of the central model and of the evaluation average are finite. A finite loss does not prove it. */
  isFinite(group: Handle): boolean
  /**
   * The newest 4096 spans of the work of the group's rule and levels since the last call. The first call starts the recording. Each span is four numbers:
   * the place of the level from the bottom, or -1 for the rule's own passes on the CPU (overlapping passes of several buckets are one span); the round; and
   * start and end, in seconds of the clock that all threads of the machine share.
   */
  averagingSpans(group: Handle): Float64Array
  /**
   * The whole rounds after this one, at most the newest 4096. The first call starts the recording: only rounds that begin later are known. It takes
   * memory of each member, and so does each that joins later (`MemoryCount.recording`). Throws OUT_OF_MEMORY; then nothing is recorded.
   */
  roundFigures(group: Handle, afterRound: number): readonly RoundFigures[]
  /**
   * The same of a sample of the rounds, which is recorded while this is called at least every two seconds: about ten a second. Distances are
   * measured in as many of them as cost a 300th of a thread, and are null in the others. Members keep the memory for it. Throws OUT_OF_MEMORY; then nothing is recorded.
   */
  sampledFigures(group: Handle, afterRound: number): readonly RoundFigures[]
  /** Replaces the central model. Call it only while no learner runs. */
  writeCentral(group: Handle, weights: Float32Array | Float64Array): void

  // The state from which training resumes. A snapshot is a copy: any thread may read it while training continues.
  /** A snapshot of a group whose learners rest. Throws INVALID_STATE while a round is in progress, OUT_OF_MEMORY. */
  captureGroup(group: Handle): Handle
  /** A snapshot of a replica that is bound to a training step, between two steps. */
  captureReplica(replica: Handle): Handle
  /** Call it before the first learner joins. Throws SHAPE_MISMATCH if the snapshot is of a group with another rule. */
  restoreGroup(group: Handle, parts: SnapshotContents): void
  /** Call it after `bind`; the learner then joins `resumed`. Throws SHAPE_MISMATCH if the snapshot is of a replica with another optimiser. */
  restoreReplica(replica: Handle, parts: SnapshotContents): void
  /** The names of a snapshot's vectors, and its counts. */
  snapshotParts(snapshot: Handle): SnapshotParts
  /** One of its vectors in canonical order. */
  readSnapshot(snapshot: Handle, vector: string): Float32Array | Float64Array
  /** Replaces one of its vectors, or adds one. Throws SHAPE_MISMATCH. */
  writeSnapshot(snapshot: Handle, vector: string, values: Float32Array | Float64Array): void

  // Of the hosts of a run, each a process. Any thread of the process may use the handle.
  /** Begins to join the other hosts of the run. Returns at once. */
  openHosts(spec: HostsSpec): Handle
  /** The rank of this process, and how many there are; null until they have met. Everything else waits for that. Throws BACKEND_UNAVAILABLE. */
  hostsPlace(hosts: Handle): HostsPlace | null
  /** The ranks of the hosts that are lost, while the others go on. Throws HOST_LOST where they cannot: once the link has failed. */
  lostHosts(hosts: Handle): number[]
  /** What has been refused so far; null unless the link is sealed. */
  refusedMessages(hosts: Handle): RefusedMessages | null
  /** Copies the message and returns at once. Messages to a host arrive in order; those to a lost one are dropped. Throws HOST_LOST once the link has failed, INVALID_OPTION above 1 GiB. */
  sendToHost(hosts: Handle, to: number, message: Uint8Array): void
  /**
   * Takes the oldest waiting message of a host; null if none waits. Throws HOST_LOST if none waits and that host is lost, or the link has failed.
   */
  takeFromHost(hosts: Handle, from: number): Uint8Array | null
  /** Calls `wake` in this thread when a message has come, a host is lost or the link has failed. */
  watchHosts(hosts: Handle, wake: () => void): void
  /**
   * Begins to measure the links between the hosts, which takes less than a second, unless they are slower than some megabits a second. Each host calls it, at the same place among its groups, while all are there and none is at a
   * round. Returns at once.
   */
  measureLinks(hosts: Handle): Handle
  /** What has been measured; null until then. Throws HOST_LOST. */
  linkFigures(measurement: Handle): LinkFigures | null
  /** The link ends once every host has called it. Returns at once. A host that releases its handle before that is lost to the others. */
  endHosts(hosts: Handle): void
  /** Whether the link has ended. Throws HOST_LOST. */
  hostsEnded(hosts: Handle): boolean
  /** Ends the processes of all hosts, this one included. */
  abortHosts(hosts: Handle, code: number): void

  /** The memory that a group and a replica will take. Allocates nothing. Throws the errors of `createGroup`, and INVALID_PROGRAM. */
  countMemory(spec: MemorySpec): MemoryCount
  /** Watches what is allocated, by any thread, on each of the first `devices` devices, or in the memory that they share. */
  watchMemory(backend: EngineBackend, devices: number): Handle
  /** The most bytes on a device at a time since the watch began, beyond those that were allocated then. */
  peakMemory(watch: Handle): number
  /**
   * Bytes that may still be allocated on the device with the least memory, among `devices` devices from the number `first` on. Undefined if the devices
   * use the machine's memory. Throws INVALID_OPTION if a device does not exist.
   */
  freeMemory(backend: EngineBackend, devices: number, first: number): number | undefined
  /**
   * Allocates `bytes` on each of the first `devices` devices, from which later objects get their memory: the driver's own allocations may stop all work
   * of a GPU. Does nothing if the devices use the machine's memory. Throws OUT_OF_MEMORY.
   */
  reserve(backend: EngineBackend, devices: number, bytes: number): void

  /** The calling thread, and threads that it starts later, run on these cores only, if the system supports this. */
  keepToCores(cores: readonly number[]): void
  /** Returns freed memory to the system, now and whenever much is freed later: the allocator of the C library keeps tens of megabytes for each thread, also for one that has ended. */
  trim(): void
  /**
   * The seconds of each of `turns` reductions, one after another, at a level of a group of which each of `parts` devices has a part of `bytes`. Blocks the thread. On
   * several hosts each of them calls it with equal numbers, but for one without learners, which has 0 parts.
   */
  timeLevel(backend: EngineBackend, level: LevelSpec, parts: number, bytes: number, turns: number): Float64Array

  /** Bytes a second to the second tier of a device, and back. Throws INVALID_OPTION, WRITE_FAILED, OUT_OF_MEMORY. */
  measureTransfers(backend: EngineBackend, bytes: number, tier: HostTierSpec): TransferRates

  /** Sustained floating-point operations a second of one thread's fused multiply-adds, measured for about 100 ms. */
  measurePeak(): number
}

/** The names of a snapshot's vectors, and its counts. A group has `round`, `position`, and `fresh.<learner>`: 1 for a member that has not begun. */
export interface SnapshotParts {
  readonly vectors: readonly string[]
  readonly counts: Readonly<Record<string, number>>
}

/** Each vector in canonical order. */
export interface SnapshotContents {
  readonly vectors: Readonly<Record<string, Float32Array | Float64Array>>
  readonly counts: Readonly<Record<string, number>>
}

/**
 * The engine of this thread: the export `engine` of the module at this address. An actor is given the address, because an engine cannot be posted.
 * Throws INVALID_STATE in a bundle.
 */
export async function loadEngine(module: string): Promise<Engine> {
  refuseBundle()
  return ((await importModule(module)) as { readonly engine: Engine }).engine
}
