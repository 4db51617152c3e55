import { smoothly, type RateCourse } from './course.js'
import { elapsed, type Duration } from './span.js'

/** rate * decay^t, where t counts spans of `every` (1 epoch), smoothly from iteration to iteration. */
export interface ExponentialSchedule {
  readonly kind: 'exponential'
  readonly learningRate: number
  readonly gamma: number
  readonly period?: Duration
}

/** `exponential({ learningRate: 0.1, gamma: 0.95 })`: 5% less each epoch. */
export function exponential(options: Omit<ExponentialSchedule, 'kind'>): ExponentialSchedule {
  return { kind: 'exponential', ...options }
}

export function exponentialCourse({ learningRate: rate, gamma: decay, period: every = 1 }: ExponentialSchedule): RateCourse {
  return smoothly((progress) => rate * decay ** elapsed(every, progress))
}
