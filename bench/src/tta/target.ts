import { median } from '../statistics.js'
import type { Point } from './run.js'

/** Evaluations over which the median is taken: as in Koliousis et al., VLDB 2019. */
export const WINDOW = 5

/** The median accuracy of the last evaluations; of fewer than WINDOW there is none yet, and it is 0. */
export function steadyAccuracy(points: readonly Point[]): number {
  return points.length < WINDOW ? 0 : median(points.slice(-WINDOW).map(({ accuracy }) => accuracy))
}

/**
 * Where the target is reached: the first evaluation with which the median of the last WINDOW is at least the target. A lucky evaluation does not
 * reach it, and neither can a run that is still wavering.
 */
export function reachedAt(points: readonly Point[], target: number): Point | undefined {
  return points.find((_, i) => steadyAccuracy(points.slice(0, i + 1)) >= target)
}

/** The highest that the median came to be. */
export function bestSteadyAccuracy(points: readonly Point[]): number {
  return Math.max(0, ...points.map((_, i) => steadyAccuracy(points.slice(0, i + 1))))
}

/** The first evaluation that is at least the target. */
export function firstCrossing(points: readonly Point[], target: number): Point | undefined {
  return points.find(({ accuracy }) => accuracy >= target)
}
