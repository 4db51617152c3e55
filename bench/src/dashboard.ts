import { get } from 'node:http'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job } from './arbalest.js'
import type { Bench, BenchOptions } from './bench.js'
import { chosenCases, rateUnitOf, usually, workOfStep, type Case, type RateUnit } from './cases.js'
import { startEndlessRun, wholeIteration } from './endless-run.js'
import { comparison, type Comparison } from './pairs.js'
import { saveResults } from './results.js'
import { median, quantile } from './statistics.js'
import { Table } from './table.js'
import { threadTimes, timesSince } from './thread-times.js'

/** Milliseconds after which a run that is no longer watched records nothing more. */
const RECORDING_ENDS = 2_100
/** Milliseconds from a change until what it leads to is under way. */
const SETTLES = 400
/** The engine measures distances of learners in as many rounds as cost this share of one learner's thread. */
const DISTANCES = 1 / 300

/** A share of the time of all learners: the median over pairs of windows, and its quartiles. */
interface Share {
  readonly median: number
  readonly quartiles: readonly [number, number]
}

/** One line of `--json`: work a second with a page open and with none. */
interface Result extends Comparison {
  readonly bench: 'dashboard'
  readonly case: string
  readonly unit: RateUnit
  /** Bytes a second that the page gets. */
  readonly bytesPerSecond: number
  /** What an open page takes of all threads but the learners'. */
  readonly open: Share
  /** The most that learners measure their distances from the central model, by which an open page costs them time. */
  readonly distances: number
  /** What a dashboard without a page takes of the same threads, against a run without a dashboard. */
  readonly closed: Share
}

/** What a dashboard takes from its run. */
export const dashboard: Bench = {
  summary: 'processor time and images/s of a training run whose dashboard is open, against the dashboard closed and a run without one',
  filters: ['default: lenet b16 k2 f32', 'models, b16 (batch), k2 (learners), f32 or bf16'],
  takes: ['pairs', 'seconds', 'save'],
  async run(filters, options) {
    const table = new Table([26, 10, 10, 9, 18, 10, 19, 10, 19, 9], options.json ? null : process.stdout)
    table.row(['case', 'units/s', 'closed', 'ratio', 'quartiles', 'open', 'quartiles', 'closed', 'quartiles', 'bytes/s'])
    const results: Result[] = []
    for (const one of chosenCases(filters, usually('lenet'))) {
      const result = await measure(one, options)
      results.push(result)
      if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
      const { value, peerValue, ratio, quartiles, open, closed, bytesPerSecond } = result
      table.row([
        result.case,
        value.toFixed(0),
        peerValue.toFixed(0),
        ratio.toFixed(4),
        between(quartiles, (each) => each.toFixed(4)),
        percent(open.median),
        between(open.quartiles, percent),
        percent(closed.median),
        between(closed.quartiles, percent),
        bytesPerSecond.toFixed(0)
      ])
      table.note(`${result.n} pairs; distances take at most ${percent(result.distances)} besides`)
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}

async function measure(one: Case, { pairs, seconds }: BenchOptions): Promise<Result> {
  const { learners } = one
  const plain = await startEndlessRun(one)
  await plain.actors.synchroniser.ask.pause()
  const watched = await startEndlessRun(one, { dashboard: true })
  try {
    const work = workOfStep(one)
    const page = new Page((await watched.dashboard)!)
    const open = new Windows(watched, work, learners)
    const closed = new Windows(watched, work, learners)
    const without = new Windows(plain, work, learners)
    const bytesPerSecond: number[] = []
    // One after the other, so that all three meet the same machine. The first of each is a warm-up.
    for (let pair = 0; pair <= pairs; pair++) {
      page.open()
      await sleep(SETTLES)
      bytesPerSecond.push(await page.during(() => open.run(seconds)))
      page.close()
      const left = performance.now()
      await watched.actors.synchroniser.ask.pause()
      plain.actors.synchroniser.tell.resume()
      await sleep(SETTLES)
      await without.run(seconds)
      await plain.actors.synchroniser.ask.pause()
      watched.actors.synchroniser.tell.resume()
      await sleep(Math.max(SETTLES, RECORDING_ENDS - (performance.now() - left)))
      await closed.run(seconds)
    }
    return {
      bench: 'dashboard',
      case: one.name,
      unit: rateUnitOf(one.model),
      ...comparison(open.rates.slice(1), closed.rates.slice(1)),
      bytesPerSecond: median(bytesPerSecond.slice(1)),
      open: difference(open.shares, closed.shares),
      distances: DISTANCES / learners,
      closed: difference(closed.shares, without.shares)
    }
  } finally {
    for (const job of [plain, watched]) {
      job.stop()
      await job.finished
    }
  }
}

/** What a page of a browser does in a process of its own: it takes the stream; here that is read and dropped. */
class Page {
  readonly #url: string
  #stream: ReturnType<typeof get> | undefined
  #bytes = 0

  constructor(url: string) {
    this.#url = url
  }

  open(): void {
    this.#stream = get(new URL('events', this.#url), (response) => response.on('data', (data: Buffer) => (this.#bytes += data.length)))
    this.#stream.on('error', () => {})
  }

  close(): void {
    this.#stream?.destroy()
  }

  /** Bytes a second that came meanwhile. */
  async during(work: () => Promise<void>): Promise<number> {
    const [bytes, at] = [this.#bytes, performance.now()]
    await work()
    return (1000 * (this.#bytes - bytes)) / (performance.now() - at)
  }
}

/** Windows of one run. */
class Windows {
  readonly #job: Job
  readonly #work: number
  readonly #learners: number
  /** Work a second of each window. */
  readonly rates: number[] = []
  /** Of each window: the processor time of all threads but the learners', as a share of the learners' time. */
  readonly shares: number[] = []

  /** `work`: of an iteration of all learners. */
  constructor(job: Job, work: number, learners: number) {
    this.#job = job
    this.#work = work
    this.#learners = learners
  }

  async run(seconds: number): Promise<void> {
    const from = await wholeIteration(this.#job)
    const before = { at: performance.now(), times: threadTimes() }
    await sleep(1000 * seconds)
    // The learners compute without a pause: they are the threads that took most.
    const others = timesSince(before.times).slice(this.#learners)
    const taken = others.reduce((sum, time) => sum + time, 0)
    this.shares.push((1000 * taken) / ((performance.now() - before.at) * this.#learners))
    const until = await wholeIteration(this.#job)
    this.rates.push((1000 * this.#work * (until.iterations - from.iterations)) / (until.at - from.at))
  }
}

/** Of windows that alternated. */
function difference(shares: readonly number[], peers: readonly number[]): Share {
  const differences = shares.map((share, pair) => share - peers[pair]!).slice(1)
  return { median: median(differences), quartiles: [quantile(differences, 0.25), quantile(differences, 0.75)] }
}

function percent(share: number): string {
  return `${(100 * share).toFixed(3)}%`
}

function between(quartiles: readonly [number, number], written: (value: number) => string): string {
  return quartiles.map(written).join(' to ')
}
