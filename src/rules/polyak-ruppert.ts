import type { SynchronousRule } from '../engine/contract.js'
import type { GivenOptions, ToldByName } from '../schema/group.js'
import { defineRule, periodOf, startEpoch, type RuleContext } from './rule.js'

/**
 * Polyak-Ruppert averaging: learners train independently, and the central model is the mean of all of them over all rounds.
 *
 * Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", SIAM J. Control Optim. 30(4), 1992.
 */
export const polyakRuppert = defineRule(
  {
    /** Iterations of a round (tau). */
    period: periodOf(1),
    /** The epoch from which on rounds are averaged; before it the central model is the mean of the learners as they are. 0 if omitted. */
    startEpoch: startEpoch('0')
  },
  ({ period, startEpoch: epoch }, { iterationAt }: Pick<RuleContext, 'iterationAt'>): SynchronousRule => {
    const from = epoch === undefined ? 0 : iterationAt(epoch)
    return { kind: 'synchronous', central: { kind: 'mean', from }, adopts: false, period, from: 0 }
  }
)

/** How often `polyak-ruppert` averages, and from when on. */
export interface PolyakRuppertOptions extends GivenOptions<typeof polyakRuppert.options>, ToldByName {}
