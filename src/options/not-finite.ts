import type { NotFiniteOptions } from './train-options.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

const NAMES: OptionNames<NotFiniteOptions> = { rate: true, retries: true }

export type NotFiniteSettings = Required<NotFiniteOptions>

/** undefined: a loss that is no number ends the run. */
export function notFiniteSettings(checks: OptionChecks, given: NotFiniteOptions | undefined): NotFiniteSettings | undefined {
  if (given === undefined) return undefined
  const { rate = 0.5, retries = 3 } = checks.group('onNaN', given, NAMES)
  return {
    rate: checks.real('onNaN.rate', rate, 'above 0 and below 1', (value) => value > 0 && value < 1),
    retries: checks.whole('onNaN.retries', retries, 1, 100)
  }
}
