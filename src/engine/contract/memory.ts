import type { EngineBackend } from '../../compiler/program.js'
import type { GroupSpec } from './groups.js'
import type { Handle } from './handle.js'

/** A group and one replica, whose memory is to be counted. */
export interface MemorySpec {
  readonly backend: EngineBackend
  /** The programs to which the replica is bound; at least one. They share one parameter layout. */
  readonly programs: readonly Handle[]
  /** The group in which the replica trains; omitted for a replica that only evaluates. */
  readonly group?: Omit<GroupSpec, 'initial' | 'moved'>
  /** The vectors that lie in the second tier, and are not counted. */
  readonly moved?: 'states' | 'all'
}

/** Bytes of the engine's memory. */
export interface MemoryCount {
  /** Of the group: on each of its devices, or the sum where the devices share the machine's memory. Empty without a group. */
  readonly group: readonly number[]
  /** Of each learner that joins the group: its contribution to a round. */
  readonly contribution: number
  /** Of each learner besides, once the figures of rounds have been asked for. */
  readonly recording: number
  readonly replica: ReplicaMemory
  /** Of a checkpoint's copies of one learner's state. */
  readonly snapshot: number
  /** Read and written by the `update` of a round's last step; 0 for a replica that only evaluates. */
  readonly update: number
  /** On each device, what vectors of the second tier come through: all of them, and those of the group by themselves. */
  readonly windows: number
  /** The same of each learner's by themselves, */
  readonly learnerWindows: number
  /** and of a checkpoint's copies of the group's. */
  readonly copyWindows: number
}

/** Bytes that a replica holds by itself; weights that it shares with its group are not counted. */
export interface ReplicaMemory {
  readonly weights: number
  readonly gradients: number
  /** Velocity or moments, and the gradients of earlier batches if a step takes several. */
  readonly optimiser: number
  readonly statistics: number
  readonly activations: number
}
