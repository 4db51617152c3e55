import { alongCosine } from './cosine.js'
import { smoothly, type RateCourse } from './course.js'

/**
 * Up to `rate` and down again over the whole run, along cosines (Smith and Topin, 2018): from `first` (rate / 25) to `rate` in the share `peak`
 * (0.3) of the run, then to `last` (first / 10000). The defaults are PyTorch's.
 */
export interface OneCycleSchedule {
  readonly kind: 'one-cycle'
  readonly learningRate: number
  readonly initialLearningRate?: number
  readonly finalLearningRate?: number
  readonly risingFraction?: number
}

/** A rate that rises from `first` (rate / 25) to `rate` in the share `peak` (0.3) of the run, and falls to `last` (first / 10000): along cosines. */
export function oneCycle(options: Omit<OneCycleSchedule, 'kind'>): OneCycleSchedule {
  return { kind: 'one-cycle', ...options }
}

export function oneCycleCourse({
  learningRate: rate,
  initialLearningRate: first = rate / 25,
  finalLearningRate: last = first / 1e4,
  risingFraction: peak = 0.3
}: OneCycleSchedule): RateCourse {
  return smoothly(({ fraction: share }) =>
    share < peak ? alongCosine(first, rate, share / peak) : alongCosine(rate, last, (share - peak) / (1 - peak))
  )
}
