import type { TtaCase } from '../../tta/cases.js'
import type { Point, RunRecord, RunSpec } from '../../tta/run.js'

export const SMALL: TtaCase = {
  name: 'small',
  title: 'Small',
  model: 'mlp',
  data: 'digits',
  target: 0.9,
  learners: [1, 2],
  batches: [8, 16],
  rates: [0.01, 0.02],
  weightDecay: 0,
  drops: [4],
  epochs: 8,
  evaluateEvery: 0.5,
  tuningScale: 0.5,
  runs: 3
}

/** A run that climbs to the target and stays there from `epoch` on, at so many seconds an epoch. */
export function record(spec: RunSpec, epoch: number, secondsAnEpoch = 2): RunRecord {
  const points = Array.from({ length: 5 }, (_, i): Point => {
    const at = (epoch * (i + 1)) / 5
    return { epoch: at, seconds: at * secondsAnEpoch, accuracy: i < 2 ? 0.5 + 0.1 * i : 0.91 }
  })
  const outcome = { end: 'reached', points, imagesPerSecond: 1000 / secondsAnEpoch, otherWork: 0 } as const
  return { spec, outcome, spentSeconds: 30, date: '2026-01-01T00:00:00.000Z', commit: 'abc', machine: 'a processor, 2 cores' }
}

/** A run that stays below the target. */
export function failure(spec: RunSpec, accuracy: number): RunRecord {
  const points = Array.from({ length: 6 }, (_, i): Point => ({ epoch: i + 1, seconds: 2 * i + 2, accuracy }))
  return { ...record(spec, 1), outcome: { end: 'notReached', points, imagesPerSecond: 500, otherWork: 0 } }
}
