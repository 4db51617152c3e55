import type { EngineBackend, ParameterLayout, SegmentName } from '../../compiler/program.js'
import type { Handle } from './handle.js'

/** One copy of the weights, with all that a thread needs to run programs over it. */
export interface ReplicaSpec {
  readonly backend: EngineBackend
  /** On which of the backend's devices, 0 if left out: in whose memory it lies, and who computes. The CPU's cores are one. */
  readonly device?: number
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
  readonly backend: EngineBackend
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
  readonly learningRate?: number
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

/** What a call of `run` has come to. */
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

/** What an operator of a bound program has taken so far. */
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
