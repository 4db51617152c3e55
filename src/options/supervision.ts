import type { Supervision } from '../actors/supervisor.js'
import type { SupervisionOptions } from './train-options.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

const NAMES: OptionNames<SupervisionOptions> = { restarts: true, window: true, deadline: true }

export function supervisionSettings(checks: OptionChecks, given: SupervisionOptions | undefined): Supervision {
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
