import type { GroupRule } from '../engine/contract.js'

/**
 * The iterations from which a rule has its period and takes its mean. A checkpoint keeps them: they may depend on the planned length of the run, and must
 * stay as they were when a resumed run has become longer.
 */
export interface RuleStarts {
  readonly period: number
  readonly mean: number
}

export function startsOf(rule: GroupRule): RuleStarts {
  if (rule.kind !== 'synchronous') return { period: 0, mean: 0 }
  return { period: rule.from, mean: rule.central.kind === 'mean' ? rule.central.from : 0 }
}

/** The rule with these starts instead of its own. */
export function startingAt(rule: GroupRule, { period, mean }: RuleStarts): GroupRule {
  if (rule.kind !== 'synchronous') return rule
  const { central } = rule
  return { ...rule, from: period, central: central.kind === 'mean' ? { ...central, from: mean } : central }
}
