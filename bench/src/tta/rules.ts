import type { TrainOptions } from '../arbalest.js'
import type { TtaRule, Tuning } from './cases.js'

/** The option of `train` for a rule. */
export function ruleOptions(rule: TtaRule, { syncMomentum }: Tuning): NonNullable<TrainOptions['synchroniser']> {
  return rule === 'sma' ? { name: rule, syncMomentum } : rule
}
