import { median } from '../statistics.js'
import type { Point } from './run.js'

/** Evaluations over which the median is taken: as in Koliousis et al., VLDB 2019. */
export const WINDOW = 5

/** The median accuracy of the last WINDOW evaluations; 0 if there are fewer. */
export function steadyAccuracy(points: readonly Point[]): number {
  return points.length < WINDOW ? 0 : median(points.slice(-WINDOW).map(({ accuracy }) => accuracy))
}

/**
 * The evaluation that reaches the target: the first one at which the median of the last WINDOW is at least the target. A single lucky evaluation does not
 * reach it.
 */
export function reachedAt(points: readonly Point[], target: number): Point | undefined {
  return points.find((_, i) => steadyAccuracy(points.slice(0, i + 1)) >= target)
}

/** The highest median of WINDOW evaluations. */
export function bestSteadyAccuracy(points: readonly Point[]): number {
  return Math.max(0, ...points.map((_, i) => steadyAccuracy(points.slice(0, i + 1))))
}

/** The first evaluation whose accuracy is at least the target. */
export function firstCrossing(points: readonly Point[], target: number): Point | undefined {
  return points.find(({ accuracy }) => accuracy >= target)
}
