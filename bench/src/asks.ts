import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job } from './arbalest.js'
import type { Bench, BenchOptions } from './bench.js'
import { chosenCases, rateUnitOf, usually, workOfStep, type Case, type RateUnit } from './cases.js'
import { startEndlessRun, wholeIteration } from './endless-run.js'
import { compare, type Comparison, type Contestant } from './pairs.js'
import { saveResults } from './results.js'
import { median, quantile } from './statistics.js'
import { Table } from './table.js'
import { mainThreadTime } from './thread-times.js'

/** Milliseconds between two asks. */
const ASK_EVERY = 10

/** One line of `--json`: work a second with and without asks. */
interface Result extends Comparison {
  readonly bench: 'asks'
  readonly case: string
  readonly unit: RateUnit
  readonly asksPerSecond: number
  /** Microseconds of an answer. */
  readonly answer: number
  /** The processor time that the asks take in the thread of the program, as a share of the time of all learners. */
  readonly processor: number
  /** Its quartiles over pairs of windows. */
  readonly processorQuartiles: readonly [number, number]
}

/** What a program takes from its run by looking at it; the timer by which it does so runs on both sides. */
export const asks: Bench = {
  summary: 'images/s of a training run that is asked for its status 100 times a second, against the same run that is not asked',
  filters: ['default: lenet b16 k2 f32', 'models, b16 (batch), k2 (learners), f32 or bf16'],
  takes: ['pairs', 'seconds', 'save'],
  async run(filters, options) {
    const table = new Table([26, 12, 12, 9, 18, 10, 18, 11], options.json ? null : process.stdout)
    table.row(['case', 'units/s', 'not asked', 'ratio', 'quartiles', 'processor', 'quartiles', 'us/answer'])
    const results: Result[] = []
    for (const one of chosenCases(filters, usually('lenet'))) {
      const result = await measure(one, options)
      results.push(result)
      if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
      table.row([
        result.case,
        result.value.toFixed(0),
        result.peerValue.toFixed(0),
        result.ratio.toFixed(4),
        result.quartiles.map((each) => each.toFixed(4)).join(' to '),
        percent(result.processor),
        result.processorQuartiles.map(percent).join(' to '),
        result.answer.toFixed(0)
      ])
      table.note(`${result.asksPerSecond.toFixed(1)} asks a second; ${result.n} pairs`)
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}

async function measure(one: Case, options: BenchOptions): Promise<Result> {
  const { learners } = one
  const job = await startEndlessRun(one)
  try {
    const work = workOfStep(one)
    const undisturbed = new Windows(job, work, false)
    const asked = new Windows(job, work, true)
    // A warm-up.
    for (const isAsked of [true, false]) await new Windows(job, work, isAsked).run(options.seconds)
    const compared = await compare(asked, undisturbed, options)
    const shares = asked.processor.map((share, pair) => (share - undisturbed.processor[pair]!) / learners)
    return {
      bench: 'asks',
      case: one.name,
      unit: rateUnitOf(one.model),
      ...compared,
      asksPerSecond: median(asked.asksPerSecond),
      answer: 1e3 * median(asked.answers),
      processor: median(shares),
      processorQuartiles: [quantile(shares, 0.25), quantile(shares, 0.75)]
    }
  } finally {
    job.stop()
    await job.finished
  }
}

/** Windows of one run: both sides of the comparison are the same learners. */
class Windows implements Contestant {
  readonly #job: Job
  readonly #work: number
  readonly #asks: boolean
  readonly asksPerSecond: number[] = []
  /** Milliseconds of each answer. */
  readonly answers: number[] = []
  /** Of each window: the processor time of this thread as a share of its time. */
  readonly processor: number[] = []

  /** `work`: of an iteration of all learners. */
  constructor(job: Job, work: number, isAsked: boolean) {
    this.#job = job
    this.#work = work
    this.#asks = isAsked
  }

  async run(seconds: number): Promise<number> {
    const from = await wholeIteration(this.#job)
    const before = { at: performance.now(), processor: mainThreadTime() }
    let count = 0
    const look = this.#asks ? () => this.#ask() : async () => {}
    const timer = setInterval(() => void look().then(() => count++), ASK_EVERY)
    await sleep(1000 * seconds)
    clearInterval(timer)
    this.processor.push((1e3 * (mainThreadTime() - before.processor)) / (performance.now() - before.at))
    const until = await wholeIteration(this.#job)
    const elapsed = (until.at - from.at) / 1000
    if (this.#asks) this.asksPerSecond.push(count / elapsed)
    return (this.#work * (until.iterations - from.iterations)) / elapsed
  }

  async #ask(): Promise<void> {
    const start = performance.now()
    await this.#job.actors.synchroniser.ask.status()
    this.answers.push(performance.now() - start)
  }
}

function percent(share: number): string {
  return `${(100 * share).toFixed(3)}%`
}
