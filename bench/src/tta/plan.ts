import { RULES, type TtaCase, type TtaRule, type Tuning } from './cases.js'
import { Contests } from './contest.js'
import { secondsAnEpoch, type PaceFile, type Paces, type PaceSet, type PaceSpec } from './pace.js'
import { keyOf, measuredRun, tuningRun, type RunRecord, type RunStep } from './run.js'

export interface Method {
  readonly rule: TtaRule
  readonly learners: number
}

/** The compared methods, in the order of the report. */
export function methodsOf({ learners }: Pick<TtaCase, 'learners'>): readonly Method[] {
  return learners.flatMap((count) => RULES.map((rule) => ({ rule, learners: count })))
}

/** The next work: runs, in any order and at the same time, or paces that are measured together. */
export type Step = { readonly runs: readonly RunStep[] } | { readonly set: PaceSet; readonly specs: readonly PaceSpec[] }

/** The results so far. */
export interface Findings {
  readonly batch: number | undefined
  readonly tuningOf: (method: Method) => Tuning | undefined
  /** The finished runs of the report. */
  readonly measured: readonly RunRecord[]
  /** The methods whose paces convert epochs to seconds; known when all tunings are. */
  readonly methods: readonly PaceSpec[] | undefined
  /** Undefined when everything is done. */
  readonly next: Step | undefined
  /** The number of runs that are still to be made. */
  readonly left: number
}

/**
 * The results of the finished runs, and the next step. First one learner finds the batch, by seconds and over all its tunings; then each method finds its
 * tuning at that batch, by epochs; then all methods are measured, seed by seed. All depends only on the records and the paces, so that an interrupted bench
 * can continue.
 */
export function findingsOf(one: TtaCase, records: readonly RunRecord[], paces: PaceFile): Findings {
  const done = new Map(records.map((record) => [keyOf(record.spec), record]))
  const contests = new Contests(done, one.finalists)
  const methods = methodsOf(one)
  const first = { rule: 'ssgd', learners: 1 } as const
  const paceOf = (batch: number) => secondsAnEpoch(paces.batches, { ...first, batch }) ?? 1
  // Runs that are too short for the target are ranked by their accuracy, and so all of them must train for the same time.
  const shareOf = (batch: number) => (one.tuningScale < 1 ? Math.min(...one.batches.map(paceOf)) / paceOf(batch) : 1)
  const grid = (stage: 'batch' | 'tuning', { rule, learners }: Method, batch: number) =>
    one.tunings[rule].map((tuning) =>
      tuningRun(one, stage, measuredRun(one, rule, learners, batch, tuning, 0), stage === 'batch' ? shareOf(batch) : 1)
    )

  const alone = one.batches.map((batch): PaceSpec => ({ ...first, batch, tuning: one.tunings[first.rule][0]! }))
  const batchRuns = one.batches.flatMap((batch) => grid('batch', first, batch))
  const batch = contests.best(batchRuns, (spec) => paceOf(spec.batch))?.batch
  const tunings = new Map<string, Tuning>()
  for (const method of methods) {
    if (batch === undefined) break
    // One learner under S-SGD has been tuned at this batch already.
    const isFirst = method.rule === first.rule && method.learners === first.learners
    const tuning = contests.best(grid(isFirst ? 'batch' : 'tuning', method, batch), () => 1)?.tuning
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
  const open = [...contests.open, ...specs.filter((spec) => !done.has(keyOf(spec))).map((run): RunStep => ({ run, giveUpAt: run.epochs }))]
  const whole = tuned.length === methods.length
  const pacing: Step | undefined = !paces.batches
    ? { set: 'batches', specs: alone }
    : whole && !isPacedAs(paces.methods, tuned)
      ? { set: 'methods', specs: tuned }
      : undefined
  return {
    batch,
    tuningOf: (method) => tunings.get(nameOf(method)),
    measured: specs.flatMap((spec) => done.get(keyOf(spec)) ?? []),
    methods: whole ? tuned : undefined,
    next: pacing ?? (open.length > 0 ? { runs: open } : undefined),
    left: open.length + (methods.length - tuned.length) * one.runs + unknownTunings(one, batch) + contests.unknown
  }
}

/** The number of tuning runs that are known only when the batch is. */
function unknownTunings({ tunings, learners, finalists }: TtaCase, batch: number | undefined): number {
  if (batch !== undefined) return 0
  const finals = finalists > 1 ? finalists : 0
  return methodsOf({ learners }).reduce((sum, { rule }) => sum + tunings[rule].length + finals, 0) - tunings.ssgd.length - finals
}

/** Whether the pace of every method has been measured. */
function isPacedAs(paces: Paces | undefined, methods: readonly PaceSpec[]): boolean {
  return methods.every((method) => secondsAnEpoch(paces, method) !== undefined)
}

export function nameOf({ rule, learners }: Method): string {
  return `${rule} k${learners}`
}
