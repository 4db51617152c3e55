import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { BenchOptions } from './bench.js'
import type { Case } from './cases.js'
import { SEGMENTS, type OperatorProfile } from './internals.js'
import { LearnerGroup, type GroupParts } from './learner-group.js'
import { necessaryFlopsByOperator } from './necessary-flops.js'
import { startPeak } from './ours.js'
import { Table } from './table.js'

/** The data of a learner's thread. */
export interface ProfiledLearner extends GroupParts {
  readonly learner: number
}

/** The measurements of a learner's thread. */
export interface ProfileReport {
  readonly operators: readonly OperatorProfile[]
  readonly steps: number
  readonly busySeconds: number
  readonly waitSeconds: number
}

/** Runs the learners of a case for some seconds, and resolves with what each has measured. */
export async function runLearners(one: Case, seconds: number): Promise<readonly ProfileReport[]> {
  using group = new LearnerGroup(one)
  const workers = Array.from({ length: one.learners }, (_, learner) => {
    const workerData: ProfiledLearner = { ...group.parts, learner }
    return new Worker(fileURLToPath(new URL('profile-worker.js', import.meta.url)), { workerData })
  })
  const told = () => Promise.all(workers.map((worker) => once(worker, 'message') as Promise<[unknown]>))
  try {
    // All are warm, and measure.
    await told()
    const reports = told() as Promise<[ProfileReport][]>
    await sleep(1000 * seconds)
    group.stop()
    const flops = necessaryFlopsByOperator(group.step)
    return (await reports).map(([report]) => ({
      ...report,
      operators: report.operators.map((each) => ({ ...each, flops: flops.get(`${each.segment} ${each.name} ${each.kind}`) ?? each.flops }))
    }))
  } finally {
    group.stop()
    await Promise.all(workers.map((worker) => worker.terminate()))
  }
}

const COLUMNS = [48, 13, 9, 7, 9, 8, 8, 8] as const

/** Prints the time of a learner's step: each operator with its time, share of one core's peak and memory traffic; then the waiting times. */
export async function profileCase(one: Case, options: BenchOptions): Promise<void> {
  const fma = await startPeak(one.learners)
  const peak = (await fma.run(0.1)) / one.learners
  fma.close()
  const [report] = await runLearners(one, options.seconds)
  if (report === undefined) return
  const total = report.busySeconds + report.waitSeconds
  const waits = { case: one.name, steps: report.steps, seconds: total, waitSeconds: report.waitSeconds, peak }
  if (options.json) {
    for (const operator of report.operators) process.stdout.write(`${JSON.stringify({ bench: 'profile', case: one.name, ...operator })}\n`)
    process.stdout.write(`${JSON.stringify({ bench: 'profile', ...waits })}\n`)
    return
  }
  const table = new Table(COLUMNS, process.stdout, { words: 2 })
  table.row([`${one.name}: operator`, 'implementation', 'us/step', 'time', 'GFLOP/s', 'of peak', 'MB', 'GB/s'])
  const line = (name: string, implementation: string, operators: readonly OperatorProfile[]): void => {
    const seconds = operators.reduce((sum, operator) => sum + operator.seconds, 0)
    const flops = operators.reduce((sum, operator) => sum + operator.flops * operator.runs, 0)
    const bytes = operators.reduce((sum, operator) => sum + operator.bytes * operator.runs, 0)
    const speed = flops / seconds
    table.row([
      name,
      implementation,
      ((seconds * 1e6) / report.steps).toFixed(1),
      `${((100 * seconds) / total).toFixed(1)}%`,
      (speed / 1e9).toFixed(1),
      `${((100 * speed) / peak).toFixed(0)}%`,
      (bytes / report.steps / 1e6).toFixed(2),
      (bytes / seconds / 1e9).toFixed(1)
    ])
  }
  for (const segment of SEGMENTS) {
    const operators = report.operators.filter((operator) => operator.segment === segment)
    for (const operator of operators) line(`  ${operator.name} ${operator.kind}`, operator.implementation, [operator])
    if (operators.length > 0) line(segment, '', operators)
  }
  const wait = `waits for the group ${((100 * report.waitSeconds) / total).toFixed(1)}%; data is gathered by the load segment, without a wait`
  table.note(
    `${report.steps} steps, ${((total * 1e6) / report.steps).toFixed(1)} us each; ${wait}; peak ${(peak / 1e9).toFixed(0)} GFLOP/s a core`
  )
}
