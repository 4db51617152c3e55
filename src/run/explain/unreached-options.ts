import type { Dataset } from '../../data/dataset.js'
import type { Settings } from '../../options/settings.js'
import { elapsed, type Duration, type Progress } from '../../schedules/duration.js'
import type { Schedule } from '../schedule.js'

export interface PlannedRun {
  readonly settings: Pick<Settings, 'average' | 'optimiser'>
  readonly dataset: Pick<Dataset, 'train'>
  readonly schedule: Pick<Schedule, 'iterations' | 'endPosition'>
}

/** What a run was asked for and does not come to before its planned end, each in one line. */
export function unreachedOptions({ settings: { average, optimiser }, dataset, schedule }: PlannedRun): string[] {
  const end: Progress = { epoch: schedule.endPosition / dataset.train.count, iteration: schedule.iterations, fraction: 1 }
  const has = `the run has ${Number(end.epoch.toPrecision(3))} epochs`
  const warnings: string[] = []
  if (average && average.from > end.epoch)
    warnings.push(`average.startEpoch: received ${average.from}; ${has}: nothing is averaged, and the central model itself is evaluated`)
  const rate = optimiser.learningRate
  if (rate.kind === 'warmup' && elapsed(rate.duration, end) < 1)
    warnings.push(
      `optimiser: received a warm-up of ${shownDuration(rate.duration)}; ${has}: the learning rate does not rise to that of its schedule`
    )
  return warnings
}

function shownDuration(duration: Duration): string {
  const [unit, length] = Object.entries(typeof duration === 'number' ? { epochs: duration } : duration)[0]!
  return `${length} ${unit}`
}
