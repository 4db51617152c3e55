import { smoothly, type RateCourse } from './course.js'

/** From `rate` to `last` (0) along half a cosine over the whole run (Loshchilov and Hutter, ICLR 2017, without restarts). */
export interface CosineSchedule {
  readonly kind: 'cosine'
  readonly learningRate: number
  readonly finalLearningRate?: number
}

/** A rate that falls from `rate` to `last` (0) along half a cosine over the whole run (Loshchilov and Hutter, ICLR 2017, without restarts). */
export function cosine(options: Omit<CosineSchedule, 'kind'>): CosineSchedule {
  return { kind: 'cosine', ...options }
}

export function cosineCourse({ learningRate: rate, finalLearningRate: last = 0 }: CosineSchedule): RateCourse {
  return smoothly(({ fraction: share }) => alongCosine(rate, last, share))
}

/** From one number to another, slowly at both ends, as `share` goes from 0 to 1. */
export function alongCosine(from: number, to: number, share: number): number {
  return to + ((from - to) * (1 + Math.cos(Math.PI * Math.min(1, share)))) / 2
}
