import type { TtaCase } from './cases.js'
import { secondsAnEpoch, type Paces } from './pace.js'
import { methodsOf, type Findings } from './plan.js'
import { RULE_TITLES } from './report.js'
import type { RunRecord } from './run.js'

/** The central model on the test set after so many seconds of training. */
export interface CurvePoint {
  readonly rule: string
  readonly learners: number
  readonly seed: number
  readonly seconds: number
  readonly accuracy: number
}

/** Measured runs as curves, and the mean of each method's. */
export interface Curves {
  readonly runs: readonly CurvePoint[]
  /** As far as the shortest goes: where one has ended a mean would jump. Without runs that diverged, which have no part in it; of seed 0. */
  readonly means: readonly CurvePoint[]
}

/** Points of a mean; between them it is straight. */
const POINTS = 60

export function curvesOf(one: TtaCase, { measured, batch = 0 }: Findings, paces: Paces): Curves {
  const methods = methodsOf(one).flatMap((method) => {
    const pace = secondsAnEpoch(paces, { ...method, batch })
    const records = measured.filter(
      ({ spec, outcome }) => spec.rule === method.rule && spec.learners === method.learners && outcome.points.length > 0
    )
    if (pace === undefined || records.length === 0) return []
    const runs = records.map((record) => ({ end: record.outcome.end, points: curveOf(record, pace) }))
    return [
      { runs: runs.flatMap(({ points }) => points), mean: meanOf(runs.filter(({ end }) => end !== 'diverged').map(({ points }) => points)) }
    ]
  })
  return { runs: methods.flatMap(({ runs }) => runs), means: methods.flatMap(({ mean }) => mean) }
}

function curveOf({ spec: { rule, learners, seed }, outcome }: RunRecord, pace: number): readonly CurvePoint[] {
  return outcome.points.map(({ epoch, accuracy }) => ({ rule: RULE_TITLES[rule], learners, seed, seconds: epoch * pace, accuracy }))
}

function meanOf(runs: readonly (readonly CurvePoint[])[]): readonly CurvePoint[] {
  const [some] = runs
  if (!some) return []
  const from = Math.max(...runs.map((points) => points[0]!.seconds))
  const until = Math.min(...runs.map((points) => points.at(-1)!.seconds))
  return Array.from({ length: POINTS }, (_, i): CurvePoint => {
    const seconds = from + ((until - from) * i) / (POINTS - 1)
    const accuracy = runs.reduce((sum, points) => sum + accuracyAt(points, seconds), 0) / runs.length
    return { ...some[0]!, seed: 0, seconds, accuracy }
  })
}

/** On the straight line between two points; of a time before the first or after the last that one's. */
function accuracyAt(points: readonly CurvePoint[], seconds: number): number {
  const next = points.findIndex((point) => point.seconds >= seconds)
  if (next <= 0) return points.at(next)!.accuracy
  const [a, b] = [points[next - 1]!, points[next]!]
  return a.accuracy + ((seconds - a.seconds) / (b.seconds - a.seconds)) * (b.accuracy - a.accuracy)
}
