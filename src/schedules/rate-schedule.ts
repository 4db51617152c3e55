import { cosineCourse, type CosineSchedule } from './cosine.js'
import type { RateCourse } from './course.js'
import { exponentialCourse, type ExponentialSchedule } from './exponential.js'
import { inverseCourse, type InverseSchedule } from './inverse.js'
import { oneCycleCourse, type OneCycleSchedule } from './one-cycle.js'
import {
  constantCourse,
  multistepCourse,
  stepCourse,
  type ConstantSchedule,
  type MultistepSchedule,
  type StepSchedule
} from './stepwise.js'
import { warmupCourse, type WarmupSchedule } from './warmup.js'

/** A learning rate over a run, as plain data; `constant`, `step`, `multistep`, `exponential`, `inverse`, `cosine`, `oneCycle`, `warmup` make it. */
export type LearningRateSchedule =
  | ConstantSchedule
  | StepSchedule
  | MultistepSchedule
  | ExponentialSchedule
  | InverseSchedule
  | CosineSchedule
  | OneCycleSchedule
  | WarmupSchedule

export function courseOf(schedule: LearningRateSchedule): RateCourse {
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
      return warmupCourse(schedule, courseOf(schedule.schedule))
  }
}

/** The largest rate that it names: what to lower where the loss grows beyond all bounds. */
export function peakOf(schedule: LearningRateSchedule): number {
  return schedule.kind === 'warmup' ? peakOf(schedule.schedule) : schedule.learningRate
}
