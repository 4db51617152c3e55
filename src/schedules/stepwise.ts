import type { RateCourse } from './course.js'
import { times, type Duration } from './span.js'

/** The same all the time. */
export interface ConstantSchedule {
  readonly kind: 'constant'
  readonly learningRate: number
}

/** Multiplied by `decay` (0.1) at the end of every such span. */
export interface StepSchedule {
  readonly kind: 'step'
  readonly learningRate: number
  readonly period: Duration
  readonly gamma?: number
}

/** Multiplied by `decay` (0.1) at each of these points. */
export interface MultistepSchedule {
  readonly kind: 'multistep'
  readonly learningRate: number
  readonly milestones: readonly Duration[]
  readonly gamma?: number
}

/** The same rate all the way. */
export function constant(options: Omit<ConstantSchedule, 'kind'>): ConstantSchedule {
  return { kind: 'constant', ...options }
}

/** `step({ learningRate: 0.1, period: 30 })`: a tenth of the rate after each 30 epochs. */
export function step(options: Omit<StepSchedule, 'kind'>): StepSchedule {
  return { kind: 'step', ...options }
}

/** `multistep({ learningRate: 0.1, milestones: [80, 120] })`: a tenth of the rate from epoch 80 on, a hundredth from epoch 120 on. */
export function multistep(options: Omit<MultistepSchedule, 'kind'>): MultistepSchedule {
  return { kind: 'multistep', ...options }
}

export function constantCourse({ learningRate: rate }: ConstantSchedule): RateCourse {
  return { smooth: () => rate, varies: [], drops: [], decay: 1 }
}

export function stepCourse({ learningRate: rate, period: every, gamma: decay = 0.1 }: StepSchedule): RateCourse {
  return { smooth: () => rate, varies: [], drops: multiples(every), decay }
}

export function multistepCourse({ learningRate: rate, milestones: at, gamma: decay = 0.1 }: MultistepSchedule): RateCourse {
  return { smooth: () => rate, varies: [], drops: at, decay }
}

function* multiples(span: Duration): Generator<Duration, never> {
  for (let factor = 1; ; factor++) yield times(span, factor)
}
