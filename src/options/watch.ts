import type { TrainOptions } from './train-options.js'
import type { OptionChecks } from './option-checks.js'

/** When the central model is measured, and what is done with it beside telling it. */
export interface WatchSettings {
  /** Epochs. */
  readonly every: number
  readonly keep: 'last' | 'best'
  readonly onEvaluated: TrainOptions['onEvaluated']
  /** Milliseconds. */
  readonly onEvaluatedDeadline: number
}

export function watchSettings(
  checks: OptionChecks,
  {
    keep = 'last',
    onEvaluated,
    onEvaluatedDeadline = Infinity,
    evaluateEvery = 1
  }: Pick<Partial<TrainOptions>, 'keep' | 'onEvaluated' | 'onEvaluatedDeadline' | 'evaluateEvery'>
): WatchSettings {
  if (onEvaluated !== undefined && typeof onEvaluated !== 'function') checks.refuse('onEvaluated', onEvaluated, 'give a function')
  return {
    every: checks.real('evaluateEvery', evaluateEvery, 'above 0', (epochs) => epochs > 0),
    keep: checks.name('keep', keep, ['last', 'best']),
    onEvaluated,
    onEvaluatedDeadline:
      onEvaluatedDeadline === Infinity
        ? Infinity
        : checks.real('onEvaluatedDeadline', onEvaluatedDeadline, 'of milliseconds above 0', (value) => value > 0)
  }
}
