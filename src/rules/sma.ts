import type { SynchronousRule } from '../engine/contract.js'
import { momentumOf, RuleOptions, type RuleContext } from './rule-options.js'

/** How the learners of `sma` are drawn to the central model. */
export interface SmaOptions {
  /** Iterations between two corrections (tau). */
  readonly period?: number
  /** How far a correction goes; null or left out: min(1/k, 1/2) for k learners, taken anew when k changes. */
  readonly alpha?: number | null
  /** The central model's momentum (mu). */
  readonly syncMomentum?: number
  /**
   * A round's last step is taken by all learners at once, when the last of them has its gradient, and in one pass with the central model's. The numbers
   * are the same; less memory is moved, and nobody goes on before all have come. Of one device, without hosts.
   */
  readonly lockstep?: boolean
}

/**
 * Synchronous model averaging: every learner is drawn to the central model, w' = w - step - alpha (w - z), and the central model to all of them,
 * z' = z + sum alpha (w - z) + mu (z - z of the round before).
 *
 * Koliousis et al., "Crossbow: Scaling Deep Learning with Small Batch Sizes on Multi-GPU Servers", VLDB 2019.
 *
 * Throws INVALID_OPTION, also for numbers with which the average would grow without bound.
 */
export function sma(given: SmaOptions, { learners }: Pick<RuleContext, 'learners'>): SynchronousRule {
  const options = new RuleOptions(given)
  const period = options.whole('period', 1)
  const alpha = options.real('alpha', null, 'between 0 and 1, both excluded', (value) => value > 0 && value < 1)
  const momentum = momentumOf(options, 'syncMomentum', 0)
  const lockstep = options.truth('lockstep', false)
  const bound = stableAlpha(learners, momentum)
  if (options.sound && alpha !== null && alpha >= bound)
    options.refuse('alpha', alpha, `with ${learners} learners averaging is stable below ${bound.toPrecision(4)}`)
  options.done()
  return { kind: 'synchronous', central: { kind: 'sma', alpha, momentum, ...(lockstep && { lockstep }) }, adopts: false, period, from: 0 }
}

/** At rate zero the corrections alone must die out: k alpha < (2 - alpha)(1 + mu). */
export function stableAlpha(learners: number, mu: number): number {
  return (2 * (1 + mu)) / (learners + 1 + mu)
}
