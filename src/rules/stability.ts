import type { GroupRule } from '../engine/contract.js'
import { stableAlpha } from './sma.js'

/** Why so many learners are too many for the alpha of an averaging rule; undefined where they are not, or where alpha follows their number. */
export function instability(rule: GroupRule, learners: number): string | undefined {
  if (rule.kind !== 'synchronous' || rule.central.kind !== 'sma' || rule.central.alpha === null) return undefined
  const { alpha, momentum } = rule.central
  const bound = stableAlpha(learners, momentum)
  if (alpha < bound) return undefined
  return `with ${learners} learners averaging is stable below an alpha of ${bound.toPrecision(4)}, and it is ${alpha}`
}
