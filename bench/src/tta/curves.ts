import type { TtaCase } from './cases.js'
import { secondsAnEpoch, type Paces } from './pace.js'
import { methodsOf, type Findings } from './plan.js'
import { RULE_TITLES } from './report.js'
import type { RunRecord } from './run.js'

/** The test accuracy of the central model after `seconds` of training. */
export interface CurvePoint {
  readonly rule: string
  readonly learners: number
  readonly seed: number
  readonly seconds: number
  readonly accuracy: number
}

/** The curves of the measured runs, and the mean curve of each method. */
export interface Curves {
  readonly runs: readonly CurvePoint[]
  /** Each as long as its shortest run, after which the mean would jump; without the runs that diverged; with seed 0. */
  readonly means: readonly CurvePoint[]
}

/** Points of a mean curve. */
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

/** Linear between two points, and constant before the first and after the last one. */
function accuracyAt(points: readonly CurvePoint[], seconds: number): number {
  const next = points.findIndex((point) => point.seconds >= seconds)
  if (next <= 0) return points.at(next)!.accuracy
  const [a, b] = [points[next - 1]!, points[next]!]
  return a.accuracy + ((seconds - a.seconds) / (b.seconds - a.seconds)) * (b.accuracy - a.accuracy)
}
