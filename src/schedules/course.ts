import type { Progress, Duration } from './span.js'

/** A schedule in numbers: a smooth course, and drops, at which every learner starts anew from the central model. */
export interface RateCourse {
  /** The rate without the drops: a pure function of how far the run is. */
  readonly smooth: (progress: Progress) => number
  /** How long it changes from one iteration to the next: until the last of these spans has gone by. */
  readonly varies: 'always' | readonly Duration[]
  /** Where the rate is multiplied by `decay`, rising. */
  readonly drops: Iterable<Duration>
  readonly decay: number
}

/** A course without drops. */
export function smoothly(smooth: RateCourse['smooth']): RateCourse {
  return { smooth, varies: 'always', drops: [], decay: 1 }
}
