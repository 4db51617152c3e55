import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Bench, BenchOptions } from './bench.js'
import { chosenCases, usually, type Case } from './cases.js'
import { LearnerGroup, type GroupParts } from './learner-group.js'
import { saveResults } from './results.js'
import { median, spread, type Spread } from './statistics.js'
import { Table } from './table.js'

/** The data of a learner's thread. */
export interface AveragingLearner extends GroupParts {
  readonly batch: number
  readonly learner: number
}

/** A window in which a learner trains in its group or alone. */
export interface Stint {
  readonly grouped: boolean
  readonly milliseconds: number
}

export interface StintReport {
  steps: number
  busySeconds: number
  waitSeconds: number
}

/** One line of `--json`. */
interface Result extends Spread {
  readonly bench: 'averaging'
  readonly case: string
  /** Median over the pairs of (computing time of a step in the group / alone) - 1. */
  readonly cost: number
  /** Share of the time in the group that is spent waiting. It is not part of the cost. */
  readonly waits: number
  readonly microsecondsAlone: number
  readonly n: number
}

/** The cost of synchronous model averaging in every iteration, for a learner's step. */
export const averaging: Bench = {
  summary: 'the cost of averaging in every step for a learner, and its waiting time',
  filters: ['default: resnet20 b16 k2 f32', 'models, b16 (batch), k2 (learners), f32 or bf16'],
  takes: ['pairs', 'seconds', 'save'],
  async run(filters, options) {
    const table = new Table([26, 12, 9, 9, 18], options.json ? null : process.stdout)
    table.row(['case', 'us/step', 'cost', 'waits', 'quartiles of cost'])
    const results: Result[] = []
    for (const one of chosenCases(filters, usually('resnet20'))) {
      const result = await measure(one, options)
      results.push(result)
      if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
      const percent = (value: number) => `${(100 * value).toFixed(1)}%`
      const { cost, waits, microsecondsAlone, quartiles } = result
      table.row([
        one.name,
        microsecondsAlone.toFixed(1),
        percent(cost),
        percent(waits),
        quartiles.map((each) => percent(each - 1)).join(' to ')
      ])
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}

async function measure(one: Case, { pairs, seconds }: BenchOptions): Promise<Result> {
  using group = new LearnerGroup(one)
  const workers = Array.from({ length: one.learners }, (_, learner) => {
    const workerData: AveragingLearner = { ...group.parts, batch: one.batch, learner }
    return new Worker(fileURLToPath(new URL('averaging-worker.js', import.meta.url)), { workerData })
  })
  const stint = async (grouped: boolean, length: number): Promise<StintReport> => {
    const answers = workers.map(async (worker) => ((await once(worker, 'message')) as [StintReport])[0])
    for (const worker of workers) worker.postMessage({ grouped, milliseconds: length * 1000 } satisfies Stint)
    const reports = await Promise.all(answers)
    const sum = (figure: keyof StintReport) => reports.reduce((total, report) => total + report[figure], 0)
    return { steps: sum('steps'), busySeconds: sum('busySeconds'), waitSeconds: sum('waitSeconds') }
  }
  try {
    await Promise.all(workers.map((worker) => once(worker, 'message')))
    for (const grouped of [true, false]) await stint(grouped, 0.5)
    const both: [StintReport, StintReport][] = []
    for (let pair = 0; pair < pairs; pair++) both.push([await stint(true, seconds), await stint(false, seconds)])
    const perStep = ({ busySeconds, steps }: StintReport) => busySeconds / steps
    const ratios = both.map(([together, alone]) => perStep(together) / perStep(alone))
    return {
      bench: 'averaging',
      case: one.name,
      cost: median(ratios) - 1,
      waits: median(both.map(([{ busySeconds, waitSeconds }]) => waitSeconds / (busySeconds + waitSeconds))),
      microsecondsAlone: 1e6 * median(both.map(([, alone]) => perStep(alone))),
      n: pairs,
      ...spread(ratios)
    }
  } finally {
    group.stop()
    await Promise.all(workers.map((worker) => worker.terminate()))
  }
}
