import { smoothly, type RateCourse } from './course.js'
import { elapsed, type Duration } from './span.js'

/** rate / (1 + decay t)^power, where t counts spans of `every` (1 epoch); decay and power are 1 if left out. */
export interface InverseSchedule {
  readonly kind: 'inverse'
  readonly learningRate: number
  readonly gamma?: number
  readonly power?: number
  readonly period?: Duration
}

/** `inverse({ learningRate: 0.01, gamma: 1e-4, power: 0.75, period: { iterations: 1 } })`: the schedule by which Caffe trains LeNet. */
export function inverse(options: Omit<InverseSchedule, 'kind'>): InverseSchedule {
  return { kind: 'inverse', ...options }
}

export function inverseCourse({ learningRate: rate, gamma: decay = 1, power = 1, period: every = 1 }: InverseSchedule): RateCourse {
  return smoothly((progress) => rate / (1 + decay * elapsed(every, progress)) ** power)
}
