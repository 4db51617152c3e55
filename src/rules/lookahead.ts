import type { SynchronousRule } from '../engine/contract.js'
import { RuleOptions } from './rule-options.js'

/** When and how far the slow weights of `lookahead` follow the fast ones. */
export interface LookaheadOptions {
  /** Iterations of the fast weights between two steps of the slow ones. */
  readonly period?: number
  /** How far the slow weights go. */
  readonly outerLearningRate?: number
}

/**
 * Lookahead: z' = z + rate (mean w - z), where all go on from.
 *
 * Zhang, Lucas, Hinton and Ba, "Lookahead optimizer: k steps forward, 1 step back", NeurIPS 2019.
 */
export function lookahead(given: LookaheadOptions): SynchronousRule {
  const options = new RuleOptions(given)
  const period = options.whole('period', 5)
  const learningRate = options.real('outerLearningRate', 0.5, 'above 0, at most 1', (value) => value > 0 && value <= 1)
  options.done()
  return {
    kind: 'synchronous',
    central: { kind: 'outer', learningRate, momentum: 0, nesterov: false, perLearningRate: false },
    adopts: true,
    period,
    from: 0
  }
}
