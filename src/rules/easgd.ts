import type { SynchronousRule } from '../engine/contract.js'
import { invalidOption } from '../errors.js'
import type { RuleContext } from './rule-options.js'
import { sma, type SmaOptions } from './sma.js'

/** How the learners of `easgd` and `eamsgd` are drawn to the central model. */
export type EasgdOptions = Omit<SmaOptions, 'syncMomentum'>

/**
 * Elastic averaging: synchronous model averaging without momentum on the central model, w' = w - step - alpha (w - z) and
 * z' = z + sum alpha (w - z). With learners that have Nesterov momentum it is EAMSGD: a learner is at x, takes its gradient ahead of itself at
 * w = x + m u, and is drawn to the central model from x: u' = m u - rate g(w), x' = x + u' - alpha (x - z).
 *
 * Zhang, Choromanska and LeCun, "Deep learning with Elastic Averaging SGD", NeurIPS 2015.
 */
export function easgd(given: EasgdOptions, context: Pick<RuleContext, 'learners'>): SynchronousRule {
  if (Object.hasOwn(given, 'syncMomentum'))
    throw invalidOption('synchroniser.syncMomentum', (given as SmaOptions).syncMomentum, 'use only period, alpha; sma has a momentum')
  return sma(given, context)
}
