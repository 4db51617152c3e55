import type { SynchronousRule } from '../engine/contract.js'
import { momentumOf, RuleOptions } from './rule-options.js'
import type { OuterMomentumOptions } from './slowmo.js'

/**
 * DiLoCo: D = z - mean w is the gradient of an outer SGD with Nesterov momentum, u' = momentum u + D and z' = z - rate (D + momentum u'); all go
 * on from z'. In the publication they have AdamW, which is for `optimiser` to say.
 *
 * Douillard et al., "DiLoCo: Distributed low-communication training of language models", 2023.
 */
export function diloco(given: OuterMomentumOptions): SynchronousRule {
  const options = new RuleOptions(given)
  const period = options.whole('period', 500)
  const learningRate = options.real('outerLearningRate', 0.7, 'above 0', (value) => value > 0)
  const momentum = momentumOf(options, 'outerMomentum', 0.9)
  options.done()
  return {
    kind: 'synchronous',
    central: { kind: 'outer', learningRate, momentum, nesterov: true, perLearningRate: false },
    adopts: true,
    period,
    from: 0
  }
}
