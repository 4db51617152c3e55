import type { SynchronousRule } from '../engine/contract.js'
import { defineRule, outerLearningRate, outerMomentum, periodOf } from './rule.js'

/**
 * DiLoCo: D = z - mean w is the gradient of an outer SGD with Nesterov momentum, u' = momentum u + D and z' = z - rate (D + momentum u'); all
 * continue from z'. In the publication the learners have AdamW, which the option `optimiser` sets.
 *
 * Douillard et al., "DiLoCo: Distributed low-communication training of language models", 2023.
 */
export const diloco = defineRule(
  {
    /** Iterations between two outer steps (tau). */
    period: periodOf(500),
    outerLearningRate: outerLearningRate(0.7),
    outerMomentum: outerMomentum(0.9)
  },
  ({ period, outerLearningRate: learningRate, outerMomentum: momentum }): SynchronousRule => ({
    kind: 'synchronous',
    central: { kind: 'outer', learningRate, momentum, nesterov: true, perLearningRate: false },
    adopts: true,
    period,
    from: 0
  })
)
