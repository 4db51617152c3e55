import type { NotFiniteOptions } from './train-options.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

const NAMES: OptionNames<NotFiniteOptions> = { learningRateFactor: true, retries: true }

export type NotFiniteSettings = Required<NotFiniteOptions>

/** undefined: a loss that is no number ends the run. */
export function notFiniteSettings(checks: OptionChecks, given: NotFiniteOptions | undefined): NotFiniteSettings | undefined {
  if (given === undefined) return undefined
  const { learningRateFactor = 0.5, retries = 3 } = checks.group('onNaN', given, NAMES)
  return {
    learningRateFactor: checks.real(
      'onNaN.learningRateFactor',
      learningRateFactor,
      'above 0 and below 1',
      (value) => value > 0 && value < 1
    ),
    retries: checks.whole('onNaN.retries', retries, 1, 100)
  }
}
