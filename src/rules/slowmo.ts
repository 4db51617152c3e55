import type { SynchronousRule } from '../engine/contract.js'
import { momentumOf, RuleOptions } from './rule-options.js'

/** The outer steps of `slowmo` and `diloco`. */
export interface OuterMomentumOptions {
  /** Iterations that learners make between two outer steps (tau). */
  readonly period?: number
  readonly outerLearningRate?: number
  readonly outerMomentum?: number
}

/**
 * Slow momentum: u' = momentum u + (z - mean w) / r and z' = z - rate r u', with r the learners' rate; all go on from z'.
 *
 * Wang, Tantia, Ballas and Rabbat, "SlowMo: Improving communication-efficient distributed SGD with slow momentum", ICLR 2020.
 */
export function slowmo(given: OuterMomentumOptions): SynchronousRule {
  const options = new RuleOptions(given)
  const period = options.whole('period', 12)
  const learningRate = options.real('outerLearningRate', 1, 'above 0', (value) => value > 0)
  const momentum = momentumOf(options, 'outerMomentum', 0.5)
  options.done()
  return {
    kind: 'synchronous',
    central: { kind: 'outer', learningRate, momentum, nesterov: false, perLearningRate: true },
    adopts: true,
    period,
    from: 0
  }
}
