import type { SynchronousRule } from '../engine/contract.js'
import { check } from '../schema/faults.js'
import { option, type GivenOptions, type ToldByName } from '../schema/group.js'
import { kind, orNull, real, truth } from '../schema/values.js'
import { defineRule, periodOf, type RuleContext } from './rule.js'
import { instabilityOf } from './stability.js'

/** The options that `sma`, `easgd` and `eamsgd` share. */
export const averagingOptions = {
  /** Iterations between two corrections (tau). */
  period: periodOf(1),
  /** How far a correction goes; if null or omitted, min(1/k, 1/2) for k learners, also when k changes. */
  alpha: option(orNull(real({ above: 0, below: 1 })), {
    text: 'fraction of the distance between learner and central model that a correction covers',
    flag: '--alpha <number>',
    otherwise: 'min(1/k, 1/2) for k learners'
  }),
  /**
   * Takes a round's last step for all learners at once, when the last of them has its gradient, in one pass with the central model's step. The results are
   * the same; less memory is moved, and each learner waits for all others. Meant for GPUs, and on a CPU for models of many parameters (VGG-16 trains 1.07 to 1.11
   * times the images). For one device, without hosts.
   */
  lockstep: option(truth(), {
    text: "take a round's last step for all learners at once: faster on GPUs, and on a CPU with models of many parameters",
    flag: '--lockstep',
    default: false
  })
}

const runContext = kind<Pick<RuleContext, 'learners'>>(
  (value) => Number.isSafeInteger((Object(value) as Partial<RuleContext>).learners),
  'an object with the number of learners'
)

/**
 * Synchronous model averaging: every learner is drawn to the central model, w' = w - step - alpha (w - z), and the central model to all of them,
 * z' = z + sum alpha (w - z) + mu (z - z of the round before).
 *
 * Koliousis et al., "Crossbow: Scaling Deep Learning with Small Batch Sizes on Multi-GPU Servers", VLDB 2019.
 *
 * Throws INVALID_OPTION, also for numbers with which the average would grow without bound.
 */
export const sma = defineRule(
  {
    ...averagingOptions,
    /** The central model's momentum (mu). */
    syncMomentum: option(real({ min: 0, below: 1 }), {
      text: "the central model's momentum, mu",
      flag: '--sync-momentum <number>',
      default: 0
    })
  },
  ({ period, alpha = null, syncMomentum: momentum, lockstep }, context: Pick<RuleContext, 'learners'>, faults): SynchronousRule => {
    const { learners } = check(runContext, context, { path: 'context' })
    const unstable = faults.none && instabilityOf({ alpha, momentum }, learners)
    if (unstable) faults.refuse('synchroniser.alpha', alpha, unstable)
    return { kind: 'synchronous', central: { kind: 'sma', alpha, momentum, ...(lockstep && { lockstep }) }, adopts: false, period, from: 0 }
  }
)

/** How the learners of `sma` are drawn to the central model. */
export interface SmaOptions extends GivenOptions<typeof sma.options>, ToldByName {}
