import type { Dataset } from '../../data/dataset.js'
import type { Settings } from '../../options/settings.js'
import { elapsed, type Duration, type Progress } from '../../schedules/duration.js'
import type { LearningRateSchedule } from '../../schedules/learning-rates.js'
import type { Schedule } from '../schedule.js'

export interface PlannedRun {
  readonly settings: Pick<Settings, 'average' | 'optimiser' | 'synchroniser'>
  readonly dataset: Pick<Dataset, 'train'>
  readonly schedule: Pick<Schedule, 'iterations' | 'endPosition'>
}

/** What a run was asked for and does not come to before its planned end, each in one line. */
export function unreachedOptions({ settings, dataset, schedule }: PlannedRun): string[] {
  const end: Progress = { epoch: schedule.endPosition / dataset.train.count, iteration: schedule.iterations, fraction: 1 }
  const has = `the run has ${Number(end.epoch.toPrecision(3))} epochs`
  return [
    ...unreachedAverage(settings.average, end, has),
    ...unreachedStart(settings.synchroniser, end, has),
    ...unreachedRate(settings.optimiser.learningRate, end, has)
  ]
}

function unreachedAverage(average: Settings['average'], { epoch }: Progress, has: string): string[] {
  if (!average) return []
  // The initial weights are not averaged.
  const [option, first] = average.from > 0 ? ['startEpoch', average.from] : ['period', average.every]
  return first > epoch
    ? [`average.${option}: received ${first}; ${has}: nothing is averaged, and the central model itself is evaluated`]
    : []
}

function unreachedStart({ name, options, module }: Settings['synchroniser'], { epoch }: Progress, has: string): string[] {
  const { startEpoch = 0 }: { readonly startEpoch?: number } = module === undefined ? options : {}
  if (startEpoch === 0 || startEpoch < epoch) return []
  const instead = name === 'polyak-ruppert' ? 'no rounds are averaged' : 'the learners average in every iteration to the end'
  return [`synchroniser.startEpoch: received ${startEpoch}; ${has}: ${instead}`]
}

function unreachedRate(rate: LearningRateSchedule, end: Progress, has: string): string[] {
  if (rate.kind === 'warmup') {
    if (elapsed(rate.duration, end) >= 1) return unreachedDrops(rate.schedule, end, has)
    return [
      `optimiser: received a warm-up of ${shownDuration(rate.duration)}; ${has}: the learning rate does not rise to that of its schedule`
    ]
  }
  return unreachedDrops(rate, end, has)
}

function unreachedDrops(rate: LearningRateSchedule, end: Progress, has: string): string[] {
  const isUnreached = (each: Duration): boolean => elapsed(each, end) <= 1
  if (rate.kind === 'step' && isUnreached(rate.period))
    return [`optimiser: received a drop after each ${shownDuration(rate.period)}; ${has}: the learning rate does not drop`]
  const late = rate.kind === 'multistep' ? rate.milestones.filter(isUnreached) : []
  if (late.length === 0) return []
  const told = late.map(shownDuration).join(', ')
  return [`optimiser.milestones: received ${told}; ${has}: the learning rate does not drop ${late.length > 1 ? 'at these' : 'at this one'}`]
}

function shownDuration(duration: Duration): string {
  const [unit, length] = Object.entries(typeof duration === 'number' ? { epochs: duration } : duration)[0]!
  return `${length} ${unit}`
}
