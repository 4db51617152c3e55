import { cosineCourse, type CosineRate } from './cosine.js'
import type { RateCourse } from './course.js'
import { exponentialCourse, type ExponentialRate } from './exponential.js'
import { inverseCourse, type InverseRate } from './inverse.js'
import { oneCycleCourse, type OneCycleRate } from './one-cycle.js'
import { constantCourse, multistepCourse, stepCourse, type ConstantRate, type MultistepRate, type StepRate } from './stepwise.js'
import { warmupCourse, type WarmupRate } from './warmup.js'

/** A learning rate over a run, as plain data; `constant`, `step`, `multistep`, `exponential`, `inverse`, `cosine`, `oneCycle`, `warmup` make it. */
export type RateSchedule = ConstantRate | StepRate | MultistepRate | ExponentialRate | InverseRate | CosineRate | OneCycleRate | WarmupRate

export function courseOf(schedule: RateSchedule): RateCourse {
  switch (schedule.kind) {
    case 'constant':
      return constantCourse(schedule)
    case 'step':
      return stepCourse(schedule)
    case 'multistep':
      return multistepCourse(schedule)
    case 'exponential':
      return exponentialCourse(schedule)
    case 'inverse':
      return inverseCourse(schedule)
    case 'cosine':
      return cosineCourse(schedule)
    case 'one-cycle':
      return oneCycleCourse(schedule)
    case 'warmup':
      return warmupCourse(schedule, courseOf(schedule.then))
  }
}

/** The largest rate that it names: what to lower where the loss grows beyond all bounds. */
export function peakOf(schedule: RateSchedule): number {
  return schedule.kind === 'warmup' ? peakOf(schedule.then) : schedule.rate
}
