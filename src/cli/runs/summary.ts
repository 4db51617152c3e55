import type { RecordedRun } from '../../index.js'

/** A run in a line. */
export interface RunSummary {
  readonly run: string
  readonly file: string
  /** ISO 8601. */
  readonly from: string
  readonly model: string
  readonly data: string
  readonly learners: number | null
  /** What it ended by; `unfinished` where its log has no end. */
  readonly state: string
  readonly epochs: number
  /** Of training where it ended, else of the clock. */
  readonly seconds: number
  readonly bestAccuracy: number | null
  readonly bestLoss: number | null
}

export function summaryOf({ run, file, from, until, options, started, progress, evaluated, end }: RecordedRun): RunSummary {
  const accuracies = evaluated.flatMap(({ testAccuracy }) => (testAccuracy === null ? [] : [testAccuracy]))
  const losses = evaluated.map(({ testLoss }) => testLoss).filter(Number.isFinite)
  return {
    run,
    file,
    from: new Date(1000 * from).toISOString(),
    model: started?.model ?? worded(options['model']),
    data: started?.data ?? worded(options['data']),
    learners: (end?.event === 'finished' ? end : started)?.learners ?? null,
    state: end === undefined ? 'unfinished' : end.event === 'failed' ? `failed: ${end.code}` : end.reason,
    epochs: (end?.event === 'finished' ? end.epochs : progress.at(-1)?.epoch) ?? 0,
    seconds: end?.event === 'finished' ? end.seconds : until - from,
    bestAccuracy: accuracies.length > 0 ? Math.max(...accuracies) : null,
    bestLoss: losses.length > 0 ? Math.min(...losses) : null
  }
}

function worded(value: unknown): string {
  return typeof value === 'string' ? value : '-'
}
