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
  if (rate.kind !== 'warmup' || elapsed(rate.duration, end) >= 1) return []
  return [
    `optimiser: received a warm-up of ${shownDuration(rate.duration)}; ${has}: the learning rate does not rise to that of its schedule`
  ]
}

function shownDuration(duration: Duration): string {
  const [unit, length] = Object.entries(typeof duration === 'number' ? { epochs: duration } : duration)[0]!
  return `${length} ${unit}`
}
