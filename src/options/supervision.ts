import type { SupervisionOptions } from './train-options.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

/** When a learner that fails is replaced, and when it counts as failed. */
export interface SupervisionSettings {
  /** A learner slot may be given at most this many replacements within `window` milliseconds. */
  readonly restarts: number
  readonly window: number
  /** Milliseconds without a step after which a learner that waits for no other counts as failed. */
  readonly deadline: number
}

const NAMES: OptionNames<SupervisionOptions> = { restarts: true, window: true, deadline: true }

export function supervisionSettings(checks: OptionChecks, given: SupervisionOptions | undefined): SupervisionSettings {
  const { restarts = 3, window = 60_000, deadline = 60_000 } = checks.group('supervision', given, NAMES)
  return {
    restarts: checks.whole('supervision.restarts', restarts, 0),
    window: checks.real('supervision.window', window, 'of milliseconds above 0', (value) => value > 0),
    // A timer takes no more.
    deadline: checks.real(
      'supervision.deadline',
      deadline,
      'of milliseconds from 1 to 2147483647',
      (value) => value >= 1 && value < 2 ** 31
    )
  }
}
