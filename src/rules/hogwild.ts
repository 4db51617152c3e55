import type { AsynchronousRule } from '../engine/contract.js'
import { boundsOf, type BoundOptions } from './downpour.js'
import { RuleOptions } from './rule-options.js'

/**
 * Hogwild: all learners train the central model itself, in place and without locks.
 *
 * Niu, Recht, Re and Wright, "Hogwild! A lock-free approach to parallelizing stochastic gradient descent", NeurIPS 2011.
 */
export function hogwild(given: BoundOptions): AsynchronousRule {
  const options = new RuleOptions(given)
  const bounds = boundsOf(options, given)
  options.done()
  return { kind: 'asynchronous', exchange: { kind: 'inPlace' }, ...bounds }
}
