import { median } from '../statistics.js'
import type { TtaCase, Tuning } from './cases.js'
import { estimate, product, type Estimate } from './estimate.js'
import { roundsOf, type Paces } from './pace.js'
import { methodsOf, type Findings, type Method } from './plan.js'
import { firstCrossing, reachedAt } from './target.js'

/** The measured runs of a method; the estimates are over the runs that reached the target. */
export interface MethodSummary extends Method {
  readonly tuning: Tuning
  readonly runs: number
  readonly reached: number
  readonly epochs: Estimate | undefined
  /** Epochs times the method's pace; undefined if the pace has not been measured. */
  readonly seconds: Estimate | undefined
  /** The least, the median and the greatest pace. */
  readonly secondsAnEpoch: readonly [number, number, number] | undefined
  /** Epochs to the first evaluation at the target. */
  readonly firstEpochs: Estimate | undefined
  /** The epochs of S-SGD with as many learners divided by those of this method, seed by seed; above 1 is better. */
  readonly fewerEpochs: Estimate | undefined
  /** The same ratio in seconds. */
  readonly sooner: Estimate | undefined
}

/** The summaries of all methods that have a measured run. */
export function summaries(one: TtaCase, { measured, tuningOf, batch = 0 }: Findings, paces: Paces | undefined): readonly MethodSummary[] {
  const runsOf = ({ rule, learners }: Method) => measured.filter(({ spec }) => spec.rule === rule && spec.learners === learners)
  return methodsOf(one).flatMap((method): MethodSummary[] => {
    const runs = runsOf(method)
    const tuning = tuningOf(method)
    if (runs.length === 0 || !tuning) return []
    const rival: Method = { rule: 'ssgd', learners: method.learners }
    const epochs = runs.flatMap(({ spec, outcome }) => reachedAt(outcome.points, spec.target)?.epoch ?? [])
    const ratios = runs.flatMap(({ spec, outcome }) => {
      const other = runsOf(rival).find((each) => each.spec.seed === spec.seed)
      const [ours, theirs] = [reachedAt(outcome.points, spec.target), other && reachedAt(other.outcome.points, spec.target)]
      return ours && theirs ? [theirs.epoch / ours.epoch] : []
    })
    const [rounds, rivalRounds] = [method, rival].map((each) => roundsOf(paces, { ...each, batch }))
    const faster =
      rounds &&
      rivalRounds &&
      estimate(
        rounds.map((seconds, i) => rivalRounds[i]! / seconds),
        median
      )
    const fewer = estimate(ratios)
    const seconds = rounds && median(rounds)
    const isRival = method.rule === rival.rule
    return [
      {
        ...method,
        tuning,
        runs: runs.length,
        reached: epochs.length,
        epochs: estimate(epochs),
        seconds: seconds === undefined ? undefined : estimate(epochs.map((epoch) => epoch * seconds)),
        secondsAnEpoch: rounds && [Math.min(...rounds), median(rounds), Math.max(...rounds)],
        firstEpochs: estimate(runs.flatMap(({ spec, outcome }) => firstCrossing(outcome.points, spec.target)?.epoch ?? [])),
        fewerEpochs: isRival ? undefined : fewer,
        sooner: isRival || !fewer || !faster ? undefined : product(fewer, faster)
      }
    ]
  })
}
