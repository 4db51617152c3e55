import type { Defaults } from './defaults.js'
import type { UntilOptions } from './train-options.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

/** What is watched for improvement: accuracy where there is one, else loss. */
export type Watched = 'accuracy' | 'loss'

/** When a run ends, whichever comes first; Infinity and undefined where nobody said. */
export interface UntilSettings {
  readonly epochs: number
  readonly steps: number
  readonly seconds: number
  readonly accuracy: number | undefined
  readonly loss: number | undefined
  readonly patience: number
  readonly minDelta: number
  /** undefined: accuracy where there is one, else loss. */
  readonly monitor: Watched | undefined
}

const NAMES: OptionNames<UntilOptions> = {
  epochs: true,
  steps: true,
  seconds: true,
  accuracy: true,
  loss: true,
  patience: true,
  minDelta: true,
  monitor: true
}

/** Whether nobody has said how many steps or epochs there shall be: where in its course such a run ends nobody knows. */
export function endsByTimeAlone(given: UntilOptions | undefined): boolean {
  // Whatever was given, checked or not.
  const { seconds, epochs, steps } = { ...given }
  return seconds !== undefined && epochs === undefined && steps === undefined
}

export function untilSettings(checks: OptionChecks, given: UntilOptions | undefined, defaults: Defaults): UntilSettings {
  const { epochs, steps, seconds, accuracy, loss, patience, minDelta = 0, monitor } = checks.group('until', given, NAMES)
  const unlimited = steps === undefined ? defaults.epochs : Infinity
  const above0 = (value: number) => value > 0
  return {
    epochs: epochs === undefined ? unlimited : checks.real('until.epochs', epochs, 'above 0', above0),
    steps: steps === undefined ? Infinity : checks.whole('until.steps', steps, 1),
    seconds: seconds === undefined ? Infinity : checks.real('until.seconds', seconds, 'above 0', above0),
    accuracy:
      accuracy === undefined
        ? undefined
        : checks.real('until.accuracy', accuracy, 'above 0, at most 1', (share) => share > 0 && share <= 1),
    loss: loss === undefined ? undefined : checks.real('until.loss', loss, 'above 0', above0),
    patience: patience === undefined ? Infinity : checks.whole('until.patience', patience, 1),
    minDelta: checks.real('until.minDelta', minDelta, 'of at least 0', (value) => value >= 0),
    monitor: monitor === undefined ? undefined : checks.name<Watched>('until.monitor', monitor, ['accuracy', 'loss'])
  }
}
