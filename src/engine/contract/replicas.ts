import type { EngineBackend, ParameterLayout, SegmentName } from '../../compiler/program.js'
import type { Handle } from './handle.js'

/** One copy of the weights, with the memory that a thread needs to run programs over it. */
export interface ReplicaSpec {
  readonly backend: EngineBackend
  /** The number of the device that has the replica in its memory and computes with it; 0 if omitted. */
  readonly device?: number
  readonly layout: ParameterLayout
  readonly threads: number
  readonly seed: number
  /** The group in which it trains, and the number of its learner there; omitted for evaluation. */
  readonly group?: Handle
  readonly learner?: number
  /**
   * The arenas, one of which holds its activations while `run` computes; while it waits it has none, so that their values cannot be read. A replica gets
   * activations of its own as soon as it runs single segments, is written a value or is bound to a second program.
   */
  readonly arenas?: Handle
  /** The turns of several jobs on the device, and the number of the replica's job there. Omitted where there is one job. */
  readonly lease?: Handle
  readonly job?: number
  /** Where values are moved that its programs stage, while it has activations of its own. */
  readonly tier?: HostTierSpec
  readonly moved?: MovedVectorsUse
}

/** A second tier for vectors that are laid out like the parameters: of a group, of its learners' replicas, and of replicas that evaluate. */
export interface MovedVectorsSpec {
  readonly backend: EngineBackend
  readonly layout: ParameterLayout
  readonly tier: HostTierSpec
}

/**
 * Which of its vectors a group or a replica has in a second tier: the states of its optimiser, which come through windows in the device's memory while they
 * are updated; or `all` that are laid out like the parameters. Programs of a replica that has all of them there fetch parameters and store gradients
 * (`CompileOptions.vectors`). With `all` there are no levels, and no optimiser that needs the norm of a gradient.
 */
export interface MovedVectorsUse {
  readonly vectors: Handle
  readonly all: boolean
}

/** Jobs on one device. */
export interface LeaseSpec {
  /** The share of each job in the device's time, above 0. */
  readonly shares: readonly number[]
  /**
   * A link to the other hosts of the same jobs, for this alone. On all of them jobs have their turns in the order of the first host, where `setLease` is called; nothing
   * computes until they have met. After the loss of a host all jobs compute at any time.
   */
  readonly hosts?: Handle
}

/**
 * Who computes when; no job's weights depend on it:
 *
 * - `crossed`: one job at a time, until each of its learners has come to its exchange. With `order`, jobs by their numbers, turns go in this order again and
 *   again, the same on several hosts, and a turn waits for its job unless that rests; without it to the job that has had the least time for its share, of those that ask.
 * - `shared`: all jobs at any time.
 * - `counts`, of either without an order: what a round of each job counts, as its seconds alone by the job's share. A job waits that is ahead of another one by more than
 *   two rounds of the one that counts most, so that all are slowed down alike.
 * - `alone`: one of them; the others wait unless it rests.
 */
export type LeaseTurns = { readonly shares?: readonly number[] } & (
  | { readonly mode: 'shared'; readonly counts?: readonly number[] }
  | { readonly mode: 'crossed'; readonly order?: readonly number[]; readonly counts?: readonly number[] }
  | { readonly mode: 'alone'; readonly job: number }
)

/** Of one job. */
export interface LeaseFigures {
  readonly turns: number
  /** For which it has had the device. */
  readonly seconds: number
  /** For which its learners together have waited for a turn. */
  readonly waited: number
  /** Each when the first of its learners has come to the exchange. */
  readonly rounds: number
  /** When that has happened last, in seconds on the clock of `averagingSpans`. */
  readonly last: number
  /** Seconds for which the job's group had something under way to other hosts, until then. */
  readonly exchanged: number
  /** Seconds of its learners together in the lease's own calls, beside waiting for other jobs, and until a thread ran whose turn it was. */
  readonly overhead: number
  /** Seconds of processor time of its learners' threads in the lease's calls, with all that waiting takes. */
  readonly processor: number
}

/** Where the second tier of memory lies: nowhere in particular behind a GPU. */
export interface HostTierSpec {
  /** Of a file without a name; for backends that compute in the machine's memory. */
  readonly folder?: string
  /** For tests: memory instead of a file, and transfers at once, as late as possible, or at random times of a seed. */
  readonly timing?: 'earliest' | 'latest' | number
}

/** Bytes a second. */
export interface TransferRates {
  readonly storeBytesPerSecond: number
  readonly fetchBytesPerSecond: number
}

/** As many arenas as replicas compute at once; other replicas wait for one that is large enough. */
export interface ArenasSpec {
  readonly backend: EngineBackend
  /** Bytes of each: the activations of the replicas' programs. */
  readonly sizes: readonly number[]
  /** Bytes of the second tier of each arena, and where they lie. */
  readonly staged?: number
  readonly tier?: HostTierSpec
}

export interface RunLimits {
  readonly steps: number
  readonly milliseconds: number
  /** The position of the first batch in the sequence of samples; only for a replica without a group. */
  readonly position?: number
  /** The learning rate of `update`, in place of the group's own. Ignored if the group has the optimiser. */
  readonly learningRate?: number
}

export interface SegmentLimits extends Omit<RunLimits, 'steps'> {
  /** The numbers of the samples that `load` takes, as many as the batch has, in place of those at the step's position. */
  readonly samples?: readonly number[]
}

/**
 * - `ran`: all steps that were asked for, or as many as the time allowed.
 * - `waiting`: in the middle of a step, for other learners of the group or for data; call again to continue.
 * - `paused`: the group's pause round is reached.
 * - `evicted`: no longer a member.
 * - `cancelled`: by `cancel` or `stop`.
 */
export type RunOutcome = 'ran' | 'waiting' | 'paused' | 'evicted' | 'cancelled'

/** The result of a call of `run`. */
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

/** SGD with momentum has a velocity, Adam has two moments, RMSprop the second, and a velocity with momentum. A replica has neither if its group has the optimiser. */
export type ReplicaVector = 'weights' | 'gradients' | 'velocity' | 'firstMoment' | 'secondMoment'

/** The cost of an operator of a bound program since the last profile. */
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
