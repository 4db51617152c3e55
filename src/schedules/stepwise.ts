import type { RateCourse } from './course.js'
import { times, type Span } from './span.js'

/** The same all the time. */
export interface ConstantRate {
  readonly kind: 'constant'
  readonly rate: number
}

/** Multiplied by `decay` (0.1) at the end of every such span. */
export interface StepRate {
  readonly kind: 'step'
  readonly rate: number
  readonly every: Span
  readonly decay?: number
}

/** Multiplied by `decay` (0.1) at each of these points. */
export interface MultistepRate {
  readonly kind: 'multistep'
  readonly rate: number
  readonly at: readonly Span[]
  readonly decay?: number
}

/** The same rate all the way. */
export function constant(options: Omit<ConstantRate, 'kind'>): ConstantRate {
  return { kind: 'constant', ...options }
}

/** `step({ rate: 0.1, every: 30 })`: a tenth of the rate after each 30 epochs. */
export function step(options: Omit<StepRate, 'kind'>): StepRate {
  return { kind: 'step', ...options }
}

/** `multistep({ rate: 0.1, at: [80, 120] })`: a tenth of the rate from epoch 80 on, a hundredth from epoch 120 on. */
export function multistep(options: Omit<MultistepRate, 'kind'>): MultistepRate {
  return { kind: 'multistep', ...options }
}

export function constantCourse({ rate }: ConstantRate): RateCourse {
  return { smooth: () => rate, varies: [], drops: [], decay: 1 }
}

export function stepCourse({ rate, every, decay = 0.1 }: StepRate): RateCourse {
  return { smooth: () => rate, varies: [], drops: multiples(every), decay }
}

export function multistepCourse({ rate, at, decay = 0.1 }: MultistepRate): RateCourse {
  return { smooth: () => rate, varies: [], drops: at, decay }
}

function* multiples(span: Span): Generator<Span, never> {
  for (let factor = 1; ; factor++) yield times(span, factor)
}
