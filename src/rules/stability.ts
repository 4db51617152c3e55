import type { GroupRule } from '../engine/contract.js'

/** Why averaging with this alpha grows without bound for this number of learners; undefined where it is stable, or where alpha follows the number. */
export function instabilityOf(
  { alpha, momentum }: { readonly alpha: number | null; readonly momentum: number },
  learners: number
): string | undefined {
  const bound = stableAlpha(learners, momentum)
  return alpha === null || alpha < bound ? undefined : `with ${learners} learners averaging is stable below ${bound.toPrecision(4)}`
}

/** Why a rule refuses this number of learners; undefined where it takes it. */
export function instability(rule: GroupRule, learners: number): string | undefined {
  if (rule.kind !== 'synchronous' || rule.central.kind !== 'sma') return undefined
  const unstable = instabilityOf(rule.central, learners)
  return unstable && `${unstable}, and alpha is ${rule.central.alpha}`
}

/** At learning rate 0 the corrections alone must die out: k alpha < (2 - alpha)(1 + mu). */
function stableAlpha(learners: number, mu: number): number {
  return (2 * (1 + mu)) / (learners + 1 + mu)
}
