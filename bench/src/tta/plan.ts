import { RULES, tuningsOf, type TtaCase, type TtaRule, type Tuning } from './cases.js'
import { keyOf, measuredRun, tuningRun, type RunRecord, type RunSpec } from './run.js'
import { bestSteadyAccuracy, reachedAt } from './target.js'

export interface Method {
  readonly rule: TtaRule
  readonly learners: number
}

/** What is compared, in the order in which it is told. */
export function methodsOf({ learners }: Pick<TtaCase, 'learners'>): readonly Method[] {
  return learners.flatMap((count) => RULES.map((rule) => ({ rule, learners: count })))
}

/** What has been found so far; what is still open is not there. */
export interface Findings {
  readonly batch: number | undefined
  readonly tuningOf: (method: Method) => Tuning | undefined
  /** Finished runs that are told. */
  readonly measured: readonly RunRecord[]
  /** The run that is to be made next; undefined when all is done. */
  readonly next: RunSpec | undefined
  /** Runs that are still to be made, that one with them. */
  readonly left: number
}

/**
 * What the finished runs say, and what comes next: one learner finds the batch (by seconds, over all its tunings), then each method its own
 * tuning at that batch (by epochs), then all methods are measured in turns, seed by seed, so that a machine whose speed drifts moves them all. It
 * depends on the records alone: a bench that was ended anywhere goes on from there.
 */
export function findingsOf(one: TtaCase, records: readonly RunRecord[]): Findings {
  const done = new Map(records.map((record) => [keyOf(record.spec), record]))
  const finished = (specs: readonly RunSpec[]) => specs.flatMap((spec) => done.get(keyOf(spec)) ?? [])
  const open: RunSpec[] = []
  /** The best of these, once all of them are done. */
  const contest = (specs: readonly RunSpec[], by: 'seconds' | 'epoch'): RunSpec | undefined => {
    const ended = finished(specs)
    open.push(...specs.filter((spec) => !done.has(keyOf(spec))))
    return ended.length < specs.length ? undefined : ended.toSorted((a, b) => worse(a, b, by))[0]?.spec
  }

  const methods = methodsOf(one)
  const first = { rule: 'ssgd', learners: 1 } as const
  const grid = (stage: 'batch' | 'tuning', { rule, learners }: Method, batch: number) =>
    tuningsOf(one, rule).map((tuning) => tuningRun(one, stage, measuredRun(one, rule, learners, batch, tuning, 0)))

  const batchRuns = one.batches.flatMap((batch) => grid('batch', first, batch))
  const batch = contest(batchRuns, 'seconds')?.batch
  const tunings = new Map<string, Tuning>()
  for (const method of methods) {
    if (batch === undefined) break
    // One learner under S-SGD has been tuned at this batch already.
    const isFirst = method.rule === first.rule && method.learners === first.learners
    const tuning = contest(grid(isFirst ? 'batch' : 'tuning', method, batch), 'epoch')?.tuning
    if (tuning) tunings.set(nameOf(method), tuning)
  }
  const seeds = Array.from({ length: one.runs }, (_, i) => i + 1)
  const measuredSpecs = seeds.flatMap((seed) =>
    methods.flatMap(({ rule, learners }) => {
      const tuning = tunings.get(nameOf({ rule, learners }))
      return batch === undefined || tuning === undefined ? [] : [measuredRun(one, rule, learners, batch, tuning, seed)]
    })
  )
  const measured = finished(measuredSpecs)
  open.push(...measuredSpecs.filter((spec) => !done.has(keyOf(spec))))
  const tuned = methods.length - 1
  const unknown = (batch === undefined ? tuned * tuningsOf(one, 'sma').length : 0) + (methods.length - tunings.size) * one.runs
  return { batch, tuningOf: (method) => tunings.get(nameOf(method)), measured, next: open[0], left: open.length + unknown }
}

/** Later comes: who reached the target later, then who did not reach it and by how much, then who diverged. Equal ones keep their order. */
function worse(a: RunRecord, b: RunRecord, by: 'seconds' | 'epoch'): number {
  const [to, from] = [a, b].map(({ spec, outcome }) => reachedAt(outcome.points, spec.target)?.[by] ?? Infinity) as [number, number]
  if (to !== from) return to < from ? -1 : 1
  const rank = ({ outcome }: RunRecord) => (outcome.end === 'diverged' ? -1 : bestSteadyAccuracy(outcome.points))
  return rank(b) - rank(a)
}

export function nameOf({ rule, learners }: Method): string {
  return `${rule} k${learners}`
}
