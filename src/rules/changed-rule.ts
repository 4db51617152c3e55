import type { GroupRule, RuleChange } from '../engine/contract.js'
import { invalidOption } from '../errors.js'
import { instabilityOf } from './stability.js'

/** The rule after a change, with this number of learners. Throws INVALID_OPTION for what the rule does not have, or for numbers that it refuses. */
export function changedRule(rule: GroupRule, { alpha, momentum, period }: RuleChange, learners: number): GroupRule {
  if (rule.kind === 'asynchronous') {
    refuseGiven({ alpha, momentum }, 'asynchronous learners have none; leave it out')
    return { ...rule, period: period ?? rule.period }
  }
  const { central } = rule
  if (central.kind === 'optimiser' || central.kind === 'updates') refuseGiven({ period }, 'learners meet in every iteration; leave it out')
  const common = { ...rule, period: period ?? rule.period }
  if (central.kind !== 'sma') {
    refuseGiven({ alpha, momentum }, 'the rule keeps what it began with; only model averaging (sma) takes another')
    return common
  }
  const changed = { ...central, alpha: alpha === undefined ? central.alpha : alpha, momentum: momentum ?? central.momentum }
  const unstable = instabilityOf(changed, learners)
  if (unstable && alpha === undefined && momentum !== undefined)
    throw invalidOption('momentum', momentum, `${unstable}, and alpha is ${changed.alpha}: set a lower alpha too`)
  if (unstable) throw invalidOption('alpha', changed.alpha, unstable)
  return { ...common, central: changed }
}

function refuseGiven(values: Readonly<Record<string, unknown>>, fix: string): void {
  for (const [name, value] of Object.entries(values)) if (value !== undefined) throw invalidOption(name, value, fix)
}
