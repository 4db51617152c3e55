import type { GroupRule } from '../engine/contract.js'

/**
 * The iterations from which on a rule has its period and takes its mean. Where they are shares of the run they are those of the run as it was
 * planned first: whoever goes on longer does not move what has been.
 */
export interface RuleStarts {
  readonly period: number
  readonly mean: number
}

export function startsOf(rule: GroupRule): RuleStarts {
  if (rule.kind !== 'synchronous') return { period: 0, mean: 0 }
  return { period: rule.from, mean: rule.central.kind === 'mean' ? rule.central.from : 0 }
}

/** The rule with these starts in the place of its own. */
export function startingAt(rule: GroupRule, { period, mean }: RuleStarts): GroupRule {
  if (rule.kind !== 'synchronous') return rule
  const { central } = rule
  return { ...rule, from: period, central: central.kind === 'mean' ? { ...central, from: mean } : central }
}
