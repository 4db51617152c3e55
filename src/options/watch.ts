import type { TrainOptions } from './train-options.js'
import type { OptionChecks } from './option-checks.js'

/** When the central model is measured, and what is done with it beside telling it. */
export interface WatchSettings {
  /** Epochs. */
  readonly every: number
  readonly keep: 'last' | 'best'
  readonly onEvaluated: TrainOptions['onEvaluated']
}

export function watchSettings(
  checks: OptionChecks,
  { keep = 'last', onEvaluated, evaluateEvery = 1 }: Pick<Partial<TrainOptions>, 'keep' | 'onEvaluated' | 'evaluateEvery'>
): WatchSettings {
  if (onEvaluated !== undefined && typeof onEvaluated !== 'function') checks.refuse('onEvaluated', onEvaluated, 'give a function')
  return {
    every: checks.real('evaluateEvery', evaluateEvery, 'above 0', (epochs) => epochs > 0),
    keep: checks.name('keep', keep, ['last', 'best']),
    onEvaluated
  }
}
