import type { EngineBackend, ParameterLayout } from '../../compiler/program.js'
import type { Attributes } from '../../model/graph.js'

/** A central model, and how the learners around it are kept together. */
export interface GroupSpec {
  readonly backend: EngineBackend
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
  /** Each has its own copy of the central model; 1 if left out. GPUs: the first so many, each with its own memory. Throws INVALID_OPTION above that. */
  readonly devices?: number
  /** By which the devices' sums become one, from the bottom; `devices` is among them where there are several. Of synchronous rules only. */
  readonly levels?: readonly LevelSpec[]
}

/** The levels of averaging above the learners of one device: over the devices of this process, and over hosts. */
export type LevelName = 'devices' | 'hosts'

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
 * - `sma`: corrections c = alpha (x - z) from where a learner is before the round's last update, which the learners make too, w' = w - step - c;
 *   z' = z + sum c + momentum (z - the z of the round before). x is w, or under Nesterov momentum m with velocity v, which computes gradients at a point ahead
 *   of the learner, x = w + rate m v. `alpha` null: min(1/k, 1/2), taken anew when k changes. In `lockstep` all of this is
 *   one pass over all vectors, when the last learner has come; who reads or writes a vector of another's before has that one's step taken at once. Of groups without levels.
 * - `outer`: weights. D = z - mean w is a gradient to momentum SGD: u' = momentum u + D, z' = z - rate (nesterov ? D + momentum u' : u').
 *   `perLearningRate`: D is divided by the learners' rate, and the step multiplied by it.
 * - `mean`: weights. z' is the mean of mean w over all rounds from iteration `from` on, and mean w itself before.
 * - `optimiser`: gradients, in every iteration. The optimiser takes one step on z with their mean, and the learners have none of their own;
 *   it wants `adopts` and a period of 1.
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
 * `ema`: weighted by decay to the power of their ages; `swa`: the mean of all that were taken; `lawa`: of the last `window`. Until the first is taken it is z.
 */
export type EvaluationAverage = { readonly from: number; readonly every: number } & (
  { readonly kind: 'ema'; readonly decay: number } | { readonly kind: 'swa' } | { readonly kind: 'lawa'; readonly window: number }
)

/** How far a group is. */
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
