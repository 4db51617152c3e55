import type { SynchronousRule } from '../engine/contract.js'
import type { GivenOptions, ToldByName } from '../schema/group.js'
import { defineRule, type RuleContext } from './rule.js'
import { averagingOptions, sma } from './sma.js'

/**
 * Elastic averaging: synchronous model averaging without momentum on the central model, w' = w - step - alpha (w - z) and
 * z' = z + sum alpha (w - z). With learners that have Nesterov momentum it is EAMSGD: a learner is at x, takes its gradient ahead of itself at
 * w = x + m u, and is drawn to the central model from x: u' = m u - rate g(w), x' = x + u' - alpha (x - z).
 *
 * Zhang, Choromanska and LeCun, "Deep learning with Elastic Averaging SGD", NeurIPS 2015.
 */
export const easgd = defineRule(averagingOptions, (options, context: Pick<RuleContext, 'learners'>, faults): SynchronousRule =>
  sma.make({ ...options, syncMomentum: 0 }, context, faults)
)

/** How the learners of `easgd` and `eamsgd` are drawn to the central model. */
export interface EasgdOptions extends GivenOptions<typeof easgd.options>, ToldByName {}
