import { invalidOption } from '../../errors.js'

/**
 * Synchronous model averaging: the numbers of the rule that the engine's group carries out.
 *
 * In a round's last iteration each of k learners corrects itself by c = alpha (w - z), with w and the central model z from before the
 * step; then z becomes z + sum c + mu (z - z of the round before).
 *
 * Koliousis et al., "Crossbow: Scaling Deep Learning with Small Batch Sizes on Multi-GPU Servers", VLDB 2019.
 */
export interface Sma {
  /** Iterations of a round (tau). */
  readonly period: number
  /** null: min(1/k, 1/2), taken anew when k changes. */
  readonly alpha: number | null
  /** The central model's momentum (mu). */
  readonly syncMomentum: number
}

/** The rule's numbers for k learners, checked. Throws INVALID_OPTION, also for numbers with which the average would grow without bound. */
export function sma({ period = 1, alpha = null, syncMomentum = 0 }: Partial<Sma>, learners: number): Sma {
  if (!Number.isSafeInteger(period) || period < 1)
    throw invalidOption('synchroniser.period', period, 'use a whole number of iterations of at least 1')
  if (alpha !== null && !(alpha > 0 && alpha < 1))
    throw invalidOption('synchroniser.alpha', alpha, 'use a number between 0 and 1, both excluded')
  if (!(syncMomentum >= 0 && syncMomentum < 1))
    throw invalidOption('synchroniser.syncMomentum', syncMomentum, 'use a number from 0 to below 1')
  // At rate zero the corrections alone must die out.
  if (alpha !== null && learners * alpha >= (2 - alpha) * (1 + syncMomentum)) {
    const bound = (2 * (1 + syncMomentum)) / (learners + 1 + syncMomentum)
    throw invalidOption('synchroniser.alpha', alpha, `with ${learners} learners averaging is stable below ${bound.toPrecision(4)}`)
  }
  return { period, alpha, syncMomentum }
}
