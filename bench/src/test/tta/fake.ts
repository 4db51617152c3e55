import { expect } from 'chai'
import type { TtaCase, Tuning } from '../../tta/cases.js'
import type { Pace, PaceFile, Paces, PaceSpec } from '../../tta/pace.js'
import { findingsOf } from '../../tta/plan.js'
import type { Point, RunRecord, RunSpec } from '../../tta/run.js'

/** With a momentum of 0.9, and at ten times the rate without. */
const grid = (mu: number, muAlone: number) =>
  [0.9, 0].flatMap((momentum) =>
    [0.01, 0.02].map((rate): Tuning => {
      return momentum > 0 ? { rate, momentum, syncMomentum: mu } : { rate: 10 * rate, momentum, syncMomentum: muAlone }
    })
  )

export const SMALL: TtaCase = {
  name: 'small',
  title: 'Small',
  model: 'mlp',
  data: 'digits',
  target: 0.9,
  learners: [1, 2],
  batches: [8, 16],
  tunings: { ssgd: grid(0, 0), easgd: grid(0, 0), sma: grid(0.5, 0.9) },
  finalists: 1,
  weightDecay: 0,
  precision: 'f32',
  schedule: 'multistep',
  drops: [4],
  epochs: 8,
  evaluateEvery: 0.5,
  tuningScale: 0.5,
  runs: 3
}

const PROVENANCE = { date: '2026-01-01T00:00:00.000Z', commit: 'abc', machine: 'a processor, 2 cores' } as const

/** A run that climbs to the target and stays there from `epoch` on. */
export function record(spec: RunSpec, epoch: number): RunRecord {
  const points = Array.from({ length: 5 }, (_, i): Point => ({ epoch: (epoch * (i + 1)) / 5, accuracy: i < 2 ? 0.5 + 0.1 * i : 0.91 }))
  return { spec, outcome: { end: 'reached', points }, spentSeconds: 30, ...PROVENANCE }
}

/** A run that stays below the target. */
export function failure(spec: RunSpec, accuracy: number): RunRecord {
  const points = Array.from({ length: 6 }, (_, i): Point => ({ epoch: i + 1, accuracy }))
  return { ...record(spec, 1), outcome: { end: 'notReached', points } }
}

/** Two rounds around what `secondsAnEpoch` says. */
export function paces(specs: readonly PaceSpec[], secondsAnEpoch: (spec: PaceSpec) => number = () => 2): Paces {
  const measured = specs.map((spec): Pace => {
    const { rule, learners, batch } = spec
    const mean = secondsAnEpoch(spec)
    return { rule, learners, batch, secondsAnEpoch: [0.9 * mean, 1.1 * mean] }
  })
  return { paces: measured, otherWork: 0, ...PROVENANCE }
}

/** What the files of a case hold. */
export interface Files {
  readonly records: readonly RunRecord[]
  readonly paces: PaceFile
}

/** Carries out every step that the plan asks for, or so many runs. */
export function carriedOut(
  make: (spec: RunSpec, giveUpAt: number) => RunRecord,
  { records: before = [], paces: known = {}, most = Infinity, seconds, of = SMALL }: Partial<Files> & CarryOn = {}
): Files {
  const records = [...before]
  let held = known
  for (let made = 0; made < most;) {
    const { next, left } = findingsOf(of, records, held)
    if (!next) break
    if ('set' in next) {
      held = { ...held, [next.set]: paces(next.specs, seconds) }
      continue
    }
    const { run, giveUpAt } = next.runs[0]!
    records.push(make(run, giveUpAt))
    expect(findingsOf(of, records, held).left).to.equal(left - 1)
    made++
  }
  return { records, paces: held }
}

interface CarryOn {
  readonly most?: number
  readonly seconds?: (spec: PaceSpec) => number
  readonly of?: TtaCase
}
