import type { TrainOptions } from '../arbalest.js'
import type { TtaRule, Tuning } from './cases.js'

/** A rule as `train` takes it. */
export function ruleOptions(rule: TtaRule, { syncMomentum }: Tuning): NonNullable<TrainOptions['synchroniser']> {
  return rule === 'sma' ? { name: rule, syncMomentum } : rule
}
