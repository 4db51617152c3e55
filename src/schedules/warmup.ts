import type { RateCourse } from './course.js'
import type { RateSchedule } from './rate-schedule.js'
import { elapsed, type Span } from './span.js'

/**
 * The schedule `then`, whose rates are first multiplied by a factor that rises linearly from `from` (0) to 1 over the span `over` (Goyal et al.,
 * 2017). What `then` counts, it counts from the run's start: its milestones stay where they are.
 */
export interface WarmupRate {
  readonly kind: 'warmup'
  readonly over: Span
  readonly from?: number
  readonly then: RateSchedule
}

/** `warmup(5, cosine({ rate: 0.1 }))`: five epochs of warm-up. */
export function warmup(over: Span, then: RateSchedule, options: Pick<WarmupRate, 'from'> = {}): WarmupRate {
  return { kind: 'warmup', over, then, ...options }
}

export function warmupCourse({ over, from = 0 }: WarmupRate, then: RateCourse): RateCourse {
  return {
    ...then,
    smooth: (progress) => then.smooth(progress) * (from + (1 - from) * Math.min(1, elapsed(over, progress))),
    varies: then.varies === 'always' ? 'always' : [...then.varies, over]
  }
}
