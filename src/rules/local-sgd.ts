import type { SynchronousRule } from '../engine/contract.js'
import { iterationOf, RuleOptions, type RuleContext } from './rule-options.js'

/** When the learners of `local-sgd` become their mean. */
export interface LocalSgdOptions {
  /** Iterations that learners make between two means (tau). */
  readonly period?: number
}

/** The same of `post-local-sgd`, and how long they do in every iteration. */
export interface PostLocalSgdOptions extends LocalSgdOptions {
  /** Epochs with a mean in every iteration; half of the run if left out. */
  readonly startEpoch?: number
}

/** The central model becomes the mean of the learners, and they begin the next round there. */
const MEAN = { kind: 'outer', learningRate: 1, momentum: 0, nesterov: false, perLearningRate: false } as const

/**
 * Local SGD: every `period` iterations z' = mean w, where all go on from.
 *
 * Stich, "Local SGD converges fast and communicates little", ICLR 2019.
 */
export function localSgd(given: LocalSgdOptions): SynchronousRule {
  const options = new RuleOptions(given)
  const period = options.whole('period', 8)
  options.done()
  return { kind: 'synchronous', central: MEAN, adopts: true, period, from: 0 }
}

/**
 * Post-local SGD: a mean in every iteration at first, then every `period` iterations.
 *
 * Lin, Stich, Patel and Jaggi, "Don't use large mini-batches, use local SGD", ICLR 2020.
 */
export function postLocalSgd(given: PostLocalSgdOptions, context: RuleContext): SynchronousRule {
  const options = new RuleOptions(given)
  const period = options.whole('period', 8)
  const from = iterationOf(options, 'startEpoch', Math.floor(context.iterations / 2), context)
  options.done()
  return { kind: 'synchronous', central: MEAN, adopts: true, period, from }
}
