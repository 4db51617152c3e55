import type { SynchronousRule } from '../engine/contract.js'
import { iterationOf, RuleOptions, type RuleContext } from './rule-options.js'

/** When `polyak-ruppert` averages, and from when on. */
export interface PolyakRuppertOptions {
  /** Iterations of a round (tau). */
  readonly period?: number
  /** Epochs after which the mean begins: before, the central model is the mean of the learners as they are. 0 if left out. */
  readonly startEpoch?: number
}

/**
 * Polyak-Ruppert averaging: learners go their own ways, and the central model is the mean of all of them over all rounds.
 *
 * Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", SIAM J. Control Optim. 30(4), 1992.
 */
export function polyakRuppert(given: PolyakRuppertOptions, context: RuleContext): SynchronousRule {
  const options = new RuleOptions(given)
  const period = options.whole('period', 1)
  const from = iterationOf(options, 'startEpoch', 0, context)
  options.done()
  return { kind: 'synchronous', central: { kind: 'mean', from }, adopts: false, period, from: 0 }
}
