import { SCALARS } from '../metrics/metric-names.js'
import type { EvaluatedEvent } from '../observe/events.js'
import type { Monitored } from '../options/until.js'
import type { Manifest } from './manifest.js'
import { checkedState, measuredHere, type RunState } from './run-state.js'

type Scores = Pick<EvaluatedEvent, 'testAccuracy' | 'testLoss' | 'testMetrics'>

/** How good a measured model is: the figure that counts, then the loss, so that higher is better. */
export type Worth = readonly [score: number, negativeLoss: number]

/** The figure of a measurement that counts, so that higher is better: if none is named, accuracy where there is one, else loss. */
export function scoreOf(scores: Scores, monitor?: Monitored): number {
  const figure = figureOf(scores, monitor)
  // Nothing would be better than what is no number.
  return Number.isNaN(figure) ? -Infinity : figure
}

function figureOf({ testAccuracy, testLoss, testMetrics }: Scores, monitor: Monitored = 'accuracy'): number {
  if (monitor === 'accuracy') return testAccuracy ?? -testLoss
  if (monitor === 'loss') return -testLoss
  // A run that was resumed with another monitor has not measured the figure before.
  const value = testMetrics?.[monitor] ?? NaN
  return SCALARS[monitor] === 'higher' ? value : -value
}

/** undefined for a model that has diverged. */
export function worthOf(measured: Scores, monitor?: Monitored): Worth | undefined {
  return Number.isFinite(measured.testLoss) ? [scoreOf(measured, monitor), -measured.testLoss] : undefined
}

export function isWorthMore([score, loss]: Worth, [otherScore, otherLoss]: Worth): boolean {
  return score > otherScore || (score === otherScore && loss > otherLoss)
}

/** The worth of the model in a checkpoint; undefined if it was not measured, if that does not count, or if its state is that of no run. */
export function worthInManifest(
  { state }: Manifest,
  monitor: Monitored | undefined,
  counts: (state: RunState) => boolean = () => true
): Worth | undefined {
  const run = stateOf(state)
  const measured = run && counts(run) ? measuredHere(run) : undefined
  return measured && worthOf(measured, monitor)
}

/** The figure that the run of a checkpoint monitors. */
export function monitorIn({ state }: Manifest): Monitored | undefined {
  return stateOf(state)?.monitor
}

function stateOf(state: unknown): RunState | undefined {
  try {
    return checkedState('', state)
  } catch {
    return undefined
  }
}
