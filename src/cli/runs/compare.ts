import type { FinishedEvent, RecordedRun } from '../../index.js'

/** The row of a run in the table of runs. */
export interface RunSummary {
  readonly run: string
  readonly file: string
  /** When it began, in ISO 8601. */
  readonly from: string
  readonly model: string
  readonly data: string
  /** At its end, or as far as it is; null before it has begun to train. */
  readonly learners: number | null
  /** Why it ended; `unfinished` if its log has no end. */
  readonly state: string
  readonly epochs: number
  /** Of training: without evaluation and set-up. */
  readonly seconds: number
  readonly bestAccuracy: number | null
  readonly bestLoss: number | null
}

export function summaryOf({ run, file, from, options, started, progress, evaluated, end }: RecordedRun): RunSummary {
  const finished = end?.event === 'finished' ? end : undefined
  const reached = progress.at(-1)
  const accuracies = evaluated.flatMap(({ testAccuracy }) => (testAccuracy === null ? [] : [testAccuracy]))
  const losses = evaluated.map(({ testLoss }) => testLoss).filter(Number.isFinite)
  return {
    run,
    file,
    from: new Date(1000 * from).toISOString(),
    model: started?.model ?? nameOf(options['model']),
    data: started?.data ?? nameOf(options['data']),
    learners: (finished ?? reached ?? started)?.learners ?? null,
    state: end === undefined ? 'unfinished' : end.event === 'failed' ? `failed: ${end.code}` : endOf(end),
    epochs: finished?.epochs ?? reached?.epoch ?? 0,
    seconds: (finished ?? reached)?.seconds ?? 0,
    bestAccuracy: accuracies.length > 0 ? accuracies.reduce((best, each) => Math.max(best, each)) : null,
    bestLoss: losses.length > 0 ? losses.reduce((best, each) => Math.min(best, each)) : null
  }
}

function endOf({ reason, checkpoints }: FinishedEvent): string {
  return checkpoints === 'incomplete' ? `${reason}, checkpoints incomplete` : reason
}

function nameOf(value: unknown): string {
  return typeof value === 'string' ? value : '-'
}

/** The training losses of an iteration that several runs have reported; undefined for a run that has not. */
export interface LossPoint {
  readonly iteration: number
  readonly losses: readonly (number | undefined)[]
}

/** The points that at least two runs have in common: all of them for runs with the same `logEvery`. */
export function commonPoints(runs: readonly Pick<RecordedRun, 'progress'>[]): LossPoint[] {
  const curves = runs.map(({ progress }) => new Map(progress.map(({ iteration, loss }) => [iteration, loss])))
  const reports = new Map<number, number>()
  for (const curve of curves) for (const iteration of curve.keys()) reports.set(iteration, (reports.get(iteration) ?? 0) + 1)
  // Before the losses of all runs are listed: without `logEvery` nearly every iteration is of one run alone.
  const common = [...reports].flatMap(([iteration, count]) => (count > 1 ? [iteration] : []))
  return common.sort((a, b) => a - b).map((iteration) => ({ iteration, losses: curves.map((curve) => curve.get(iteration)) }))
}

/** A metric, of an evaluation or of the user's own: its last value in each run, undefined if the run does not have it. */
export interface MetricComparison {
  readonly metric: string
  readonly values: readonly (number | undefined)[]
}

/** Of evaluations, and of `job.log` in the order in which they were first logged. */
export function comparedMetrics(runs: readonly Pick<RecordedRun, 'logged' | 'evaluated'>[]): MetricComparison[] {
  const last = runs.map(({ logged, evaluated }) => {
    const tested = Object.entries(evaluated.at(-1)?.testMetrics ?? {}).flatMap(([name, value]): [string, number][] =>
      typeof value === 'number' ? [[`test/${name}`, value]] : []
    )
    const own = logged.filter(({ learner }) => learner === null)
    return new Map([...tested, ...own.flatMap(({ metrics }) => Object.entries(metrics))])
  })
  const metrics = new Set(last.flatMap((values) => [...values.keys()]))
  return [...metrics].map((metric) => ({ metric, values: last.map((values) => values.get(metric)) }))
}
