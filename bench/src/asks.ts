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

/** Milliseconds between two asks. */
const ASK_EVERY = 10

/** One line of `--json`: images a second with and without asks. */
interface Result extends Comparison {
  readonly bench: 'asks'
  readonly case: string
  readonly unit: 'images/s'
  readonly asksPerSecond: number
  /** Microseconds of an answer. */
  readonly answer: number
  /** The time for which the asks keep the thread of the program busy, as a share of the time of all learners. */
  readonly busy: number
}

/** What a program takes from its run by looking at it. */
export const asks: Bench = {
  summary: 'images/s of a training run that is asked for its status 100 times a second, against the same run undisturbed',
  filters: ['default: lenet b16 k2 f32', 'models, b16 (batch), k2 (learners), f32 or bf16'],
  async run(filters, options) {
    const table = new Table([26, 12, 12, 9, 18, 9, 11], options.json ? null : process.stdout)
    table.row(['case', 'images/s', 'undisturbed', 'ratio', 'quartiles', 'busy', 'us/answer'])
    const results: Result[] = []
    for (const one of chosenCases(filters.length > 0 ? filters : ['lenet', 'b16', 'k2', 'f32'])) {
      const result = await measure(one, options)
      results.push(result)
      if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
      table.row([
        result.case,
        result.value.toFixed(0),
        result.peerValue.toFixed(0),
        result.ratio.toFixed(4),
        result.quartiles.map((each) => each.toFixed(4)).join(' to '),
        `${(100 * result.busy).toFixed(3)}%`,
        result.answer.toFixed(0)
      ])
      table.note(`${result.asksPerSecond.toFixed(1)} asks a second; ${result.n} pairs`)
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
    seed: 1
  })
  try {
    await job.actors.synchroniser.ask.status()
    await sleep(1000)
    const images = batch * learners
    const undisturbed = new Windows(job, images, false)
    const asked = new Windows(job, images, true)
    const compared = await compare(asked, undisturbed, options)
    return {
      bench: 'asks',
      case: one.name,
      unit: 'images/s',
      ...compared,
      asksPerSecond: median(asked.asksPerSecond),
      answer: 1e3 * median(asked.answers),
      busy: (median(asked.busy) - median(undisturbed.busy)) / learners
    }
  } finally {
    job.stop()
    await job.finished
  }
}

/** Windows of one run: both sides of the comparison are the same learners. */
class Windows implements Contestant {
  readonly #job: Job
  readonly #images: number
  readonly #asks: boolean
  readonly asksPerSecond: number[] = []
  /** Milliseconds of each answer. */
  readonly answers: number[] = []
  /** Of each window: the share of its time for which this thread was busy. */
  readonly busy: number[] = []

  /** `images`: of an iteration of all learners. */
  constructor(job: Job, images: number, isAsked: boolean) {
    this.#job = job
    this.#images = images
    this.#asks = isAsked
  }

  async run(seconds: number): Promise<number> {
    const from = await this.#whole()
    const before = performance.eventLoopUtilization()
    let count = 0
    const timer = this.#asks && setInterval(() => void this.#ask().then(() => count++), ASK_EVERY)
    await sleep(1000 * seconds)
    if (timer) clearInterval(timer)
    this.busy.push(performance.eventLoopUtilization(before).utilization)
    const until = await this.#whole()
    const elapsed = (until.at - from.at) / 1000
    if (this.#asks) this.asksPerSecond.push(count / elapsed)
    return (this.#images * (until.iterations - from.iterations)) / elapsed
  }

  async #ask(): Promise<void> {
    const start = performance.now()
    await this.#job.actors.synchroniser.ask.status()
    this.answers.push(performance.now() - start)
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
