import type { TrainOptions } from './train-options.js'
import type { OptionChecks } from './option-checks.js'

/** A run that is not made for its model. */
export interface TrialSettings {
  readonly dryRun: boolean
  /** Batches to learn by heart. */
  readonly overfit: number | undefined
}

export function trialSettings(
  checks: OptionChecks,
  { dryRun = false, overfit }: Pick<Partial<TrainOptions>, 'dryRun' | 'overfit'>
): TrialSettings {
  return {
    dryRun: checks.truth('dryRun', dryRun),
    overfit: overfit === undefined ? undefined : checks.whole('overfit', overfit, 1, 2 ** 20)
  }
}
