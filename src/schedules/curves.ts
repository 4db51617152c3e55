import { elapsed, multiple, type Duration, type Progress } from './duration.js'
import type { LearningRateSchedule } from './learning-rates.js'

/** A schedule in numbers: a smooth curve, and drops, at which every learner restarts from the central model. */
export interface Curve {
  /** The learning rate without the drops: a pure function of how far the run is. */
  readonly smooth: (progress: Progress) => number
  /** How long it changes from one iteration to the next: until all of these durations have passed. */
  readonly varies: 'always' | readonly Duration[]
  /** Where the learning rate is multiplied by `gamma`, rising. */
  readonly drops: Iterable<Duration>
  readonly gamma: number
}

export function curveOf(schedule: LearningRateSchedule): Curve {
  switch (schedule.kind) {
    case 'constant':
      return dropping(schedule.learningRate, [], 1)
    case 'step':
      return dropping(schedule.learningRate, multiples(schedule.period), schedule.gamma)
    case 'multistep':
      return dropping(schedule.learningRate, schedule.milestones, schedule.gamma)
    case 'exponential': {
      const { learningRate, gamma, period = 1 } = schedule
      return smoothly((progress) => learningRate * gamma ** elapsed(period, progress))
    }
    case 'inverse': {
      const { learningRate, gamma = 1, power = 1, period = 1 } = schedule
      return smoothly((progress) => learningRate / (1 + gamma * elapsed(period, progress)) ** power)
    }
    case 'cosine': {
      const { learningRate, finalLearningRate = 0 } = schedule
      return smoothly(({ fraction }) => alongCosine(learningRate, finalLearningRate, fraction))
    }
    case 'one-cycle': {
      const { learningRate: highest, initialLearningRate: first = highest / 25, risingFraction: rising = 0.3 } = schedule
      const { finalLearningRate: last = first / 1e4 } = schedule
      return smoothly(({ fraction }) =>
        fraction < rising ? alongCosine(first, highest, fraction / rising) : alongCosine(highest, last, (fraction - rising) / (1 - rising))
      )
    }
    case 'warmup': {
      const { duration, startFactor = 0 } = schedule
      const after = curveOf(schedule.schedule)
      return {
        ...after,
        smooth: (progress) => after.smooth(progress) * (startFactor + (1 - startFactor) * Math.min(1, elapsed(duration, progress))),
        varies: after.varies === 'always' ? 'always' : [...after.varies, duration]
      }
    }
  }
}

/** The highest learning rate that the schedule names: the number to lower if the loss diverges. */
export function highestLearningRate(schedule: LearningRateSchedule): number {
  return schedule.kind === 'warmup' ? highestLearningRate(schedule.schedule) : schedule.learningRate
}

function smoothly(smooth: Curve['smooth']): Curve {
  return { smooth, varies: 'always', drops: [], gamma: 1 }
}

function dropping(learningRate: number, drops: Iterable<Duration>, gamma = 0.1): Curve {
  return { smooth: () => learningRate, varies: [], drops, gamma }
}

function* multiples(of: Duration): Generator<Duration, never> {
  for (let factor = 1; ; factor++) yield multiple(of, factor)
}

/** From one number to another, slowly at both ends, as `fraction` goes from 0 to 1. */
function alongCosine(from: number, to: number, fraction: number): number {
  return to + ((from - to) * (1 + Math.cos(Math.PI * Math.min(1, fraction)))) / 2
}
