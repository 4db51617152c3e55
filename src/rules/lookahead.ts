import type { SynchronousRule } from '../engine/contract.js'
import type { GivenOptions, ToldByName } from '../schema/group.js'
import { defineRule, outerLearningRate, periodOf } from './rule.js'

/**
 * Lookahead: z' = z + rate (mean w - z), from which all continue.
 *
 * Zhang, Lucas, Hinton and Ba, "Lookahead optimizer: k steps forward, 1 step back", NeurIPS 2019.
 */
export const lookahead = defineRule(
  {
    /** Iterations of the fast weights between two steps of the slow ones. */
    period: periodOf(5),
    /** How far the slow weights go. */
    outerLearningRate: outerLearningRate(0.5, 1)
  },
  ({ period, outerLearningRate: learningRate }): SynchronousRule => ({
    kind: 'synchronous',
    central: { kind: 'outer', learningRate, momentum: 0, nesterov: false, perLearningRate: false },
    adopts: true,
    period,
    from: 0
  })
)

/** When and how far the slow weights of `lookahead` follow the fast ones. */
export interface LookaheadOptions extends GivenOptions<typeof lookahead.options>, ToldByName {}
