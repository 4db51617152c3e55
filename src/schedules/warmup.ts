import type { RateCourse } from './course.js'
import type { LearningRateSchedule } from './rate-schedule.js'
import { elapsed, type Duration } from './span.js'

/**
 * The schedule `then`, whose rates are first multiplied by a factor that rises linearly from `from` (0) to 1 over the span `over` (Goyal et al.,
 * 2017). What `then` counts, it counts from the run's start: its milestones stay where they are.
 */
export interface WarmupSchedule {
  readonly kind: 'warmup'
  readonly duration: Duration
  readonly startFactor?: number
  readonly schedule: LearningRateSchedule
}

/** `warmup(5, cosine({ learningRate: 0.1 }))`: five epochs of warm-up. */
export function warmup(over: Duration, then: LearningRateSchedule, options: Pick<WarmupSchedule, 'startFactor'> = {}): WarmupSchedule {
  return { kind: 'warmup', duration: over, schedule: then, ...options }
}

export function warmupCourse({ duration: over, startFactor: from = 0 }: WarmupSchedule, then: RateCourse): RateCourse {
  return {
    ...then,
    smooth: (progress) => then.smooth(progress) * (from + (1 - from) * Math.min(1, elapsed(over, progress))),
    varies: then.varies === 'always' ? 'always' : [...then.varies, over]
  }
}
