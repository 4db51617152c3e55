import { RULES, tuningsOf, type TtaCase, type TtaRule, type Tuning } from './cases.js'
import { secondsAnEpoch, type PaceFile, type PaceSet, type PaceSpec } from './pace.js'
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

/** A run, which is given up after so many epochs. */
export interface RunStep {
  readonly run: RunSpec
  readonly giveUpAt: number
}

/** What is to be done next: runs that may be made in any order and at once, or paces that are measured together. */
export type Step = { readonly runs: readonly RunStep[] } | { readonly set: PaceSet; readonly specs: readonly PaceSpec[] }

/** What has been found so far; what is still open is not there. */
export interface Findings {
  readonly batch: number | undefined
  readonly tuningOf: (method: Method) => Tuning | undefined
  /** Finished runs that are told. */
  readonly measured: readonly RunRecord[]
  /** Whose paces make seconds of epochs. Known when all tunings are. */
  readonly methods: readonly PaceSpec[] | undefined
  /** Undefined when all is done. */
  readonly next: Step | undefined
  /** Runs that are still to be made. */
  readonly left: number
}

/**
 * What the finished runs say, and what comes next: one learner finds the batch (by seconds, over all its tunings), then each method its own
 * tuning at that batch (by epochs), then all methods are measured, seed by seed. It depends on the records and the paces alone: a bench that was
 * ended anywhere goes on from there.
 */
export function findingsOf(one: TtaCase, records: readonly RunRecord[], paces: PaceFile): Findings {
  const done = new Map(records.map((record) => [keyOf(record.spec), record]))
  const finished = (specs: readonly RunSpec[]) => specs.flatMap((spec) => done.get(keyOf(spec)) ?? [])
  const open: RunStep[] = []
  /** The best of these, once all of them are done. What can no longer be the best is given up. */
  const contest = (specs: readonly RunSpec[], costOfEpoch: (spec: RunSpec) => number): RunSpec | undefined => {
    const ended = finished(specs)
    const least = Math.min(...ended.map((record) => epochsTo(record) * costOfEpoch(record.spec)))
    const missing = specs.filter((spec) => !done.has(keyOf(spec)))
    open.push(...missing.map((run) => ({ run, giveUpAt: Math.min(run.epochs, least / costOfEpoch(run)) })))
    return missing.length > 0 ? undefined : ended.toSorted((a, b) => worse(a, b, costOfEpoch))[0]?.spec
  }

  const methods = methodsOf(one)
  const first = { rule: 'ssgd', learners: 1 } as const
  const grid = (stage: 'batch' | 'tuning', { rule, learners }: Method, batch: number) =>
    tuningsOf(one, rule).map((tuning) => tuningRun(one, stage, measuredRun(one, rule, learners, batch, tuning, 0)))

  const alone = one.batches.map((batch): PaceSpec => ({ ...first, batch, tuning: tuningsOf(one, first.rule)[0]! }))
  const batchRuns = one.batches.flatMap((batch) => grid('batch', first, batch))
  const batch = contest(batchRuns, (spec) => secondsAnEpoch(paces.batches, { ...first, batch: spec.batch }) ?? 1)?.batch
  const tunings = new Map<string, Tuning>()
  for (const method of methods) {
    if (batch === undefined) break
    // One learner under S-SGD has been tuned at this batch already.
    const isFirst = method.rule === first.rule && method.learners === first.learners
    const tuning = contest(grid(isFirst ? 'batch' : 'tuning', method, batch), () => 1)?.tuning
    if (tuning) tunings.set(nameOf(method), tuning)
  }
  const tuned = methods.flatMap((method) => {
    const tuning = tunings.get(nameOf(method))
    return batch === undefined || tuning === undefined ? [] : [{ ...method, batch, tuning }]
  })
  const seeds = Array.from({ length: one.runs }, (_, i) => i + 1)
  const specs = seeds.flatMap((seed) =>
    tuned.map((method) => measuredRun(one, method.rule, method.learners, method.batch, method.tuning, seed))
  )
  open.push(...specs.filter((spec) => !done.has(keyOf(spec))).map((run) => ({ run, giveUpAt: run.epochs })))
  const unknown =
    (batch === undefined ? (methods.length - 1) * tuningsOf(one, 'sma').length : 0) + (methods.length - tuned.length) * one.runs
  const whole = tuned.length === methods.length
  const pacing: Step | undefined = !paces.batches
    ? { set: 'batches', specs: alone }
    : whole && !paces.methods
      ? { set: 'methods', specs: tuned }
      : undefined
  return {
    batch,
    tuningOf: (method) => tunings.get(nameOf(method)),
    measured: finished(specs),
    methods: whole ? tuned : undefined,
    next: pacing ?? (open.length > 0 ? { runs: open } : undefined),
    left: open.length + unknown
  }
}

/** Infinity where the target was not reached. */
function epochsTo({ spec, outcome }: RunRecord): number {
  return reachedAt(outcome.points, spec.target)?.epoch ?? Infinity
}

/** Later comes: who reached the target at more cost, then who did not reach it and by how much, then who diverged. Equal ones keep their order. */
function worse(a: RunRecord, b: RunRecord, costOfEpoch: (spec: RunSpec) => number): number {
  const [to, from] = [a, b].map((record) => epochsTo(record) * costOfEpoch(record.spec)) as [number, number]
  if (to !== from) return to < from ? -1 : 1
  const rank = ({ outcome }: RunRecord) => (outcome.end === 'diverged' ? -1 : bestSteadyAccuracy(outcome.points))
  return rank(b) - rank(a)
}

export function nameOf({ rule, learners }: Method): string {
  return `${rule} k${learners}`
}
