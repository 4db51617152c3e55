import { get } from 'node:http'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { train, type Job } from './arbalest.js'
import type { Bench, BenchOptions } from './bench.js'
import { chosenCases, workloadOf, type Case } from './cases.js'
import { compare, type Comparison, type Contestant } from './pairs.js'
import { randomDataset } from './random-dataset.js'
import { saveResults } from './results.js'
import { median } from './statistics.js'
import { Table } from './table.js'

/** Milliseconds after which a run that is no longer watched records nothing more. */
const RECORDING_ENDS = 2_500

/** One line of `--json`: images a second with a page open and with none. */
interface Result extends Comparison {
  readonly bench: 'dashboard'
  readonly case: string
  readonly unit: 'images/s'
  /** Bytes a second that the page gets. */
  readonly bytesPerSecond: number
  /** The time for which the dashboard keeps the thread of the program busy, as a share of the time of all learners. */
  readonly busy: number
}

/** What an open dashboard takes from its run. */
export const dashboard: Bench = {
  summary: 'images/s of a training run whose dashboard is open, against the same run with the dashboard closed',
  filters: ['default: lenet b16 k2 f32', 'models, b16 (batch), k2 (learners), f32 or bf16'],
  async run(filters, options) {
    const table = new Table([26, 12, 12, 9, 18, 9, 9], options.json ? null : process.stdout)
    table.row(['case', 'images/s', 'closed', 'ratio', 'quartiles', 'busy', 'bytes/s'])
    const results: Result[] = []
    for (const one of chosenCases(filters.length > 0 ? filters : ['lenet', 'b16', 'k2', 'f32'])) {
      const result = await measure(one, options)
      results.push(result)
      if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
      const { value, peerValue, ratio, quartiles, busy, bytesPerSecond } = result
      const between = quartiles.map((each) => each.toFixed(4)).join(' to ')
      const figures = [value.toFixed(0), peerValue.toFixed(0), ratio.toFixed(4), between, `${(100 * busy).toFixed(3)}%`]
      table.row([result.case, ...figures, bytesPerSecond.toFixed(0)])
      table.note(`${result.n} pairs`)
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}

async function measure(one: Case, options: BenchOptions): Promise<Result> {
  const { model, batch, learners, precision } = one
  const job = train({
    model,
    data: randomDataset(workloadOf(model)),
    batch,
    learners,
    precision,
    optimiser: { learningRate: 0.01 },
    // Longer than the bench, and without the rests of measurements.
    until: { steps: 20_000_000 },
    evaluateEvery: 1e9,
    seed: 1,
    dashboard: true
  })
  try {
    await job.actors.synchroniser.ask.status()
    await sleep(1000)
    const closed = new Windows(job, batch * learners, undefined)
    const open = new Windows(job, batch * learners, await job.dashboard)
    const compared = await compare(open, closed, options)
    const busy = (median(open.busy) - median(closed.busy)) / learners
    return { bench: 'dashboard', case: one.name, unit: 'images/s', ...compared, bytesPerSecond: median(open.bytesPerSecond), busy }
  } finally {
    job.stop()
    await job.finished
  }
}

/** Windows of one run: both sides of the comparison are the same learners. */
class Windows implements Contestant {
  readonly #job: Job
  readonly #images: number
  readonly #page: string | undefined
  readonly bytesPerSecond: number[] = []
  /** Of each window: the share of its time for which this thread was busy. */
  readonly busy: number[] = []

  /** `images`: of an iteration of all learners. `page`: what is open. */
  constructor(job: Job, images: number, page: string | undefined) {
    this.#job = job
    this.#images = images
    this.#page = page
  }

  async run(seconds: number): Promise<number> {
    let bytes = 0
    // The page of a browser takes what it takes from another process; here it is read and dropped.
    const stream =
      this.#page === undefined
        ? undefined
        : get(new URL('events', this.#page), (response) => response.on('data', (data: Buffer) => (bytes += data.length)))
    stream?.on('error', () => {})
    await sleep(stream ? 500 : RECORDING_ENDS)
    const from = await this.#whole()
    const before = performance.eventLoopUtilization()
    const bytesBefore = bytes
    await sleep(1000 * seconds)
    this.busy.push(performance.eventLoopUtilization(before).utilization)
    const until = await this.#whole()
    stream?.destroy()
    const elapsed = (until.at - from.at) / 1000
    if (stream) this.bytesPerSecond.push((bytes - bytesBefore) / elapsed)
    return (this.#images * (until.iterations - from.iterations)) / elapsed
  }

  /** The moment at which an iteration becomes whole: windows that begin and end there have no part of one. */
  async #whole(): Promise<{ readonly iterations: number; readonly at: number }> {
    const { iterations: first } = await this.#job.actors.synchroniser.ask.status()
    for (;;) {
      const { iterations } = await this.#job.actors.synchroniser.ask.status()
      if (iterations > first) return { iterations, at: performance.now() }
    }
  }
}
