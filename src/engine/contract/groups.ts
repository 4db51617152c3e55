import type { EngineBackend, ParameterLayout } from '../../compiler/program.js'
import type { Attributes } from '../../model/graph.js'
import type { Handle } from './handle.js'
import type { MovedVectorsUse } from './replicas.js'

/** A central model, and the rule that keeps the learners around it together. */
export interface GroupSpec {
  readonly backend: EngineBackend
  readonly layout: ParameterLayout
  /** The first central model, canonical. */
  readonly initial: Float32Array | Float64Array
  /** Samples of one learner in an iteration. */
  readonly batch: number
  readonly rule: GroupRule
  /** The learners' optimiser, with the attributes of their programs' `update`; for the rule that takes gradients. */
  readonly optimiser?: Attributes
  /** An average of the central model, which is evaluated, saved and exported in its place. */
  readonly average?: EvaluationAverage
  /** The number of devices, each with its own copy of the central model; 1 if omitted. GPUs are the first ones of the machine. Throws INVALID_OPTION if there are fewer. */
  readonly devices?: number
  /** The levels that add up the devices' sums, from the bottom; `devices` is one of them if there are several. Only for synchronous rules. */
  readonly levels?: readonly LevelSpec[]
  /** Throws INVALID_OPTION for all vectors where there are levels. */
  readonly moved?: MovedVectorsUse
}

/** The levels of the all-reduce above the learners of one device: over the devices of this process, and over hosts. */
export type LevelName = 'devices' | 'hosts'

/**
 * A level of the all-reduce:
 *
 * - `devices`: those of this process.
 * - `hosts`: the processes of the run, above the devices. Each makes its groups in the same order. A group over hosts rests at its first round, and after every
 *   pause, until each host has set a later one: all rest exactly at the earliest of these. A pause or a stop of any host that comes later holds for all, from a round that
 *   they agree on: at most three after the one in progress. Rates, restarts, the end and changes of the rule are not agreed on: set them equally on all hosts
 *   while they rest, else the group fails with HOSTS_DIFFER. Losses, `iterations` and `notFiniteAt` are those of all hosts; members are this one's. Release the
 *   group where it rests, or after a stop. `chunks` cut the group's buckets (`levelBuckets`) into messages, in the order of the buckets; they are the same on every host.
 *   `racks` have all ranks in their order; one rack if omitted. A chunk is summed in one rack after another, so that it crosses the link between two racks once in
 *   each direction. The bits are those of one rack, but on backend `reference`, which sums in 64 bits within a rack.
 * - `loopback`: this host is the only one, and the data for others comes back after `latency` seconds, or when a link made by `createRatedLink` has carried it.
 */
export type LevelSpec =
  | { readonly kind: 'devices' }
  | {
      readonly kind: 'hosts'
      readonly hosts: Handle
      readonly chunks: readonly ExchangeChunk[]
      readonly racks?: readonly (readonly number[])[]
      readonly ruleAt?: RulePlace
      readonly order?: SumOrder
    }
  | { readonly kind: 'loopback'; readonly latency: number }
  | { readonly kind: 'loopback'; readonly link: Handle }

/** In which order an owner adds what hosts send: `ranks`, that of their ranks, which gives the same bits each time, or `arrival`, each part as it comes. Racks are summed by ranks alone. */
export type SumOrder = 'ranks' | 'arrival'

/**
 * Where the sums over hosts become the next central model:
 *
 * - `all`: the owner of a chunk sends its sum, and every host applies the rule to all sums.
 * - `owners`: the owner applies the rule to its chunk at once and sends the new weights. The states of the group's optimiser are kept by the owners alone:
 *   a snapshot of a group has zeros for the chunks of other hosts, and no host goes on after the loss of another. Refused for optimisers that need the norm of
 *   the whole gradient.
 */
export type RulePlace = 'all' | 'owners'

/** Elements of the parameter vector from `begin` to before `end`, and the ranks of the hosts that sum them: an owner in each rack. */
export interface ExchangeChunk {
  readonly begin: number
  readonly end: number
  /** The owner in the last rack, which has the whole sum. */
  readonly host: number
  /** The owners in the racks before it; none if omitted. */
  readonly relays?: readonly number[]
}

/** A network link that exists in time alone. Groups that share it wait for each other's bytes. */
export interface RatedLinkSpec {
  /** Of each direction; Infinity for no limit. */
  readonly bytesPerSecond: number
  /** In seconds, from 0 to 60. */
  readonly latency: number
}

/** The rule by which a group keeps its learners together. */
export type GroupRule = SynchronousRule | AsynchronousRule

/** Learners meet at the end of every round. */
export interface SynchronousRule {
  readonly kind: 'synchronous'
  readonly central: CentralRule
  /** Whether learners begin every round at the central model; otherwise they continue with their own weights. */
  readonly adopts: boolean
  /** Iterations of a round (tau). */
  readonly period: number
  /** Each iteration before this one is a round. */
  readonly from: number
  /** When gradients are brought: each bucket as backward finishes it (`early`, the default), or all after backward (`late`, for comparison). */
  readonly push?: 'early' | 'late'
  /**
   * When a learner that adopts the central model takes it: each bucket before its first reader of the forward pass (`bucket`, the default, where the sum comes
   * in buckets), or all of it at once (`whole`, for comparison).
   */
  readonly pull?: 'bucket' | 'whole'
}

/**
 * The learners' contributions at the end of a round, and the new central model z' that the rule makes of them and of the central model z:
 *
 * - `sma`: the contributions are corrections c = alpha (x - z), where x is the learner's place before the round's last update. The learner makes the
 *   correction too: w' = w - step - c. z' = z + sum c + momentum (z - the z of the round before). x is w; under Nesterov momentum m with velocity v, which
 *   computes gradients at a point ahead of the learner, x = w + rate m v. If `alpha` is null it is min(1/k, 1/2), also when k changes. In `lockstep` all of
 *   this is one pass over all vectors, made when the last learner has its gradient. A vector that is read or written earlier first gets its learner's step.
 *   Lockstep is for groups without levels.
 * - `outer`: the contributions are weights. D = z - mean w is the gradient for momentum SGD: u' = momentum u + D, z' = z - rate (nesterov ? D + momentum u' : u').
 *   With `perLearningRate`, D is divided by the learners' rate and the step is multiplied by it.
 * - `mean`: the contributions are weights. z' is the mean of mean w over all rounds from iteration `from` on; before that it is mean w itself.
 * - `optimiser`: the contributions are gradients, in every iteration. The optimiser takes one step on z with their mean; the learners have no optimisers of
 *   their own. It needs `adopts` and a period of 1.
 * - `updates`: the contributions are the steps s of the learners' own optimisers, in every iteration: z' = z - sum s. It needs `adopts` and a period of 1.
 */
export type CentralRule =
  | { readonly kind: 'sma'; readonly alpha: number | null; readonly momentum: number; readonly lockstep?: boolean }
  | {
      readonly kind: 'outer'
      readonly learningRate: number
      readonly momentum: number
      readonly nesterov: boolean
      readonly perLearningRate: boolean
    }
  | { readonly kind: 'mean'; readonly from: number }
  | ({ readonly kind: 'optimiser' } & Slack)
  | ({
      readonly kind: 'updates'
      /** A learner subtracts its own updates that the model which it adopts does not have yet. */
      readonly readMyWrites: boolean
    } & Slack)

/** How old the central model may be that a learner adopts. Each round of slack takes memory for a vector of parameters a device, and one a learner. */
export interface Slack {
  /** Rounds, from 0 (the default) to 64. In round c a learner adopts the z of round max(0, c - slack), and may be `slack` rounds ahead of the slowest. */
  readonly slack?: number
  /** A learner adopts the latest z that is there, which may be of a later round. The bits then depend on timing. */
  readonly latest?: boolean
}

/** Learners meet the central model without waiting for each other. */
export interface AsynchronousRule {
  readonly kind: 'asynchronous'
  /**
   * - `push`: after every `push` of its iterations a learner adds the updates that it has made since its last push to the central model; after every `fetch`
   *   of them it copies the central model into its own weights.
   * - `inPlace`: learners train the central model itself, without locks.
   */
  readonly exchange: { readonly kind: 'push'; readonly push: number; readonly fetch: number } | { readonly kind: 'inPlace' }
  /** A learner that is more than this many iterations ahead of the slowest waits; null: it never waits. */
  readonly slack: number | null
  /** A round is this many iterations times the number of learners at its start; any learner may make them. */
  readonly period: number
}

/**
 * New numbers for a rule during a run; an omitted number stays as it is. Only `sma` has `alpha` and `momentum`; a null `alpha` is min(1/k, 1/2). All
 * rules have `period`, except those that exchange gradients in every iteration.
 */
export interface RuleChange {
  readonly alpha?: number | null
  readonly momentum?: number
  readonly period?: number
}

/** A whole round, as the group saw it. */
export interface RoundFigures {
  /** Its number, from 0, and its first iteration. */
  readonly round: number
  readonly iteration: number
  /** When its first learner came, in seconds of the clock that all threads of the machine share. */
  readonly began: number
  /** When it was whole, on the same clock. */
  readonly seconds: number
  /** Seconds that the synchroniser's rule took on the CPU; 0 on a GPU, where no thread waits for it. */
  readonly averaged: number
  /** Mean over its learners and iterations; NaN if all of them died. */
  readonly loss: number
  readonly members: readonly MemberFigures[]
}

/** A learner in a round. */
export interface MemberFigures {
  readonly learner: number
  /**
   * |w - z|, of its weights after the round's last step and the central model that the round began at: 0 where learners train the central model itself;
   * null under rules that push, and for a learner that died.
   */
  readonly distance: number | null
  /** Seconds that it waited for other learners. */
  readonly waited: number
}

/**
 * An average of central models. A model is taken at the end of each round in which the number of samples handed out reaches `from` plus a multiple of
 * `every`, at least 1; neither need be whole. `ema`: a model's weight is decay to the power of its age; `swa`: the mean of all models taken; `lawa`: the mean of the last `window` models. Until the
 * first model is taken the average is the central model itself.
 */
export type EvaluationAverage = { readonly from: number; readonly every: number } & (
  { readonly kind: 'ema'; readonly decay: number } | { readonly kind: 'swa' } | { readonly kind: 'lawa'; readonly window: number }
)

/** How a learner has left a synchronous group, within a round or between two. The rounds that were open count it as a member. */
export interface Departure {
  /** The round in which it was. */
  readonly round: number
  /** The first iteration of that round. */
  readonly iteration: number
  /** Iterations of the round that it had ended. */
  readonly iterations: number
  /** The first round that does not count it. */
  readonly until: number
  /** The buckets of its round that have its contribution. */
  readonly brought: readonly number[]
}

/** The progress of a group. */
export interface GroupStatus {
  /** Rounds that the central model has completed. */
  readonly round: number
  /** Iterations whose losses are whole. */
  readonly iterations: number
  /** Samples that were handed out: the position at which the next round begins. */
  readonly position: number
  /** In the order in which they have joined, which is that in which they meet. */
  readonly members: readonly number[]
  /** Members that have arrived in the round in progress. */
  readonly arrived: readonly number[]
  /** The first iteration in which a learner's loss was not a finite number, or -1. */
  readonly notFiniteAt: number
}
