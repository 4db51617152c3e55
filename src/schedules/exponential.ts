import { smoothly, type RateCourse } from './course.js'
import { elapsed, type Span } from './span.js'

/** rate * decay^t, where t counts spans of `every` (1 epoch), smoothly from iteration to iteration. */
export interface ExponentialRate {
  readonly kind: 'exponential'
  readonly rate: number
  readonly decay: number
  readonly every?: Span
}

/** `exponential({ rate: 0.1, decay: 0.95 })`: 5% less each epoch. */
export function exponential(options: Omit<ExponentialRate, 'kind'>): ExponentialRate {
  return { kind: 'exponential', ...options }
}

export function exponentialCourse({ rate, decay, every = 1 }: ExponentialRate): RateCourse {
  return smoothly((progress) => rate * decay ** elapsed(every, progress))
}
