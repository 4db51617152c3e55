import { smoothly, type RateCourse } from './course.js'
import { elapsed, type Span } from './span.js'

/** rate / (1 + decay t)^power, where t counts spans of `every` (1 epoch); decay and power are 1 if left out. */
export interface InverseRate {
  readonly kind: 'inverse'
  readonly rate: number
  readonly decay?: number
  readonly power?: number
  readonly every?: Span
}

/** `inverse({ rate: 0.01, decay: 1e-4, power: 0.75, every: { iterations: 1 } })`: the schedule by which Caffe trains LeNet. */
export function inverse(options: Omit<InverseRate, 'kind'>): InverseRate {
  return { kind: 'inverse', ...options }
}

export function inverseCourse({ rate, decay = 1, power = 1, every = 1 }: InverseRate): RateCourse {
  return smoothly((progress) => rate / (1 + decay * elapsed(every, progress)) ** power)
}
