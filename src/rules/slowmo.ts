import type { SynchronousRule } from '../engine/contract.js'
import type { GivenOptions, ToldByName } from '../schema/group.js'
import { defineRule, outerLearningRate, outerMomentum, periodOf } from './rule.js'

/**
 * Slow momentum: u' = momentum u + (z - mean w) / r and z' = z - rate r u', with r the learners' learning rate; all continue from z'.
 *
 * Wang, Tantia, Ballas and Rabbat, "SlowMo: Improving communication-efficient distributed SGD with slow momentum", ICLR 2020.
 */
export const slowmo = defineRule(
  {
    /** Iterations between two outer steps (tau). */
    period: periodOf(12),
    outerLearningRate: outerLearningRate(1),
    outerMomentum: outerMomentum(0.5)
  },
  ({ period, outerLearningRate: learningRate, outerMomentum: momentum }): SynchronousRule => ({
    kind: 'synchronous',
    central: { kind: 'outer', learningRate, momentum, nesterov: false, perLearningRate: true },
    adopts: true,
    period,
    from: 0
  })
)

/** The outer steps of `slowmo` and `diloco`. */
export interface OuterMomentumOptions extends GivenOptions<typeof slowmo.options>, ToldByName {}
