import type { TtaCase, Tuning } from './cases.js'
import { methodsOf, type Findings, type Method } from './plan.js'
import { firstCrossing, reachedAt } from './target.js'

/** Mean and sample standard deviation; the latter is 0 of one value. */
export interface Estimate {
  readonly mean: number
  readonly deviation: number
  readonly n: number
}

/** What the measured runs of a method say; estimates are over the runs that reached the target. */
export interface MethodSummary extends Method {
  readonly tuning: Tuning
  readonly runs: number
  readonly reached: number
  readonly epochs: Estimate | undefined
  readonly seconds: Estimate | undefined
  /** To the first evaluation at the target. */
  readonly firstEpochs: Estimate | undefined
  readonly imagesPerSecond: number
  /** Of S-SGD with as many learners, seed by seed: how many times sooner the target is reached; above 1 is better. */
  readonly sooner: Estimate | undefined
  readonly fewerEpochs: Estimate | undefined
}

export function estimate(values: readonly number[]): Estimate | undefined {
  const n = values.length
  if (n === 0) return undefined
  const mean = values.reduce((sum, value) => sum + value, 0) / n
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  return { mean, deviation: n > 1 ? Math.sqrt(squares / (n - 1)) : 0, n }
}

/** Methods that have been measured at all. */
export function summaries(one: TtaCase, { measured, tuningOf }: Findings): readonly MethodSummary[] {
  const runsOf = ({ rule, learners }: Method) => measured.filter(({ spec }) => spec.rule === rule && spec.learners === learners)
  return methodsOf(one).flatMap((method): MethodSummary[] => {
    const runs = runsOf(method)
    const tuning = tuningOf(method)
    if (runs.length === 0 || !tuning) return []
    const crossings = runs.flatMap(({ spec, outcome }) => reachedAt(outcome.points, spec.target) ?? [])
    const baseline = runsOf({ rule: 'ssgd', learners: method.learners })
    const ratios = (by: 'seconds' | 'epoch') =>
      runs.flatMap(({ spec, outcome }) => {
        const rival = baseline.find((other) => other.spec.seed === spec.seed)
        const [ours, theirs] = [reachedAt(outcome.points, spec.target), rival && reachedAt(rival.outcome.points, spec.target)]
        return ours && theirs ? [theirs[by] / ours[by]] : []
      })
    return [
      {
        ...method,
        tuning,
        runs: runs.length,
        reached: crossings.length,
        epochs: estimate(crossings.map(({ epoch }) => epoch)),
        seconds: estimate(crossings.map(({ seconds }) => seconds)),
        firstEpochs: estimate(runs.flatMap(({ spec, outcome }) => firstCrossing(outcome.points, spec.target)?.epoch ?? [])),
        imagesPerSecond: runs.reduce((sum, { outcome }) => sum + outcome.imagesPerSecond, 0) / runs.length,
        sooner: method.rule === 'ssgd' ? undefined : estimate(ratios('seconds')),
        fewerEpochs: method.rule === 'ssgd' ? undefined : estimate(ratios('epoch'))
      }
    ]
  })
}
