import { train } from './arbalest.js'
import type { Bench, BenchOptions } from './bench.js'
import { ArbalestError } from './errors.js'
import { exchangeStalls, isModelOfStalls } from './exchange-stalls.js'
import { comparison, type Comparison } from './pairs.js'
import { saveResults } from './results.js'
import type { StallOptions } from './stalling-learner.js'
import { median } from './statistics.js'
import { Table } from './table.js'

/** One line of `--json`: seconds to a test loss under some slack, beside slack 0 in the same weather. */
interface Result extends Comparison {
  readonly bench: 'staleness'
  /** `lenet k2 s1 stalls` */
  readonly case: string
  readonly peer: 's0'
  /** Of training, without its beginning; Infinity, in JSON null, where the loss was not reached. `ratio` is that of the peer's to ours: above 1 if slack is faster. */
  readonly unit: 'seconds'
  /** Runs that reached the loss. */
  readonly reached: number
  readonly peerReached: number
  /** The share of the learners' time in which they waited for each other: the median of the runs. */
  readonly stallShare: number
  readonly peerStallShare: number
  /** The learning rate that reached the loss soonest with the seed for tuning. */
  readonly learningRate: number
  readonly peerLearningRate: number
}

const LEARNERS = 2
const SLACKS = [1, 3]
const WEATHERS: Readonly<Record<string, StallOptions>> = {
  steady: { every: 0, milliseconds: 0 },
  /** A stall is as long as some ten steps. */
  stalls: { every: 40, milliseconds: 25 }
}
const RATES = [0.0025, 0.005, 0.01, 0.02]
const LOSS = 0.25
const LONGEST_STEPS = 3000
/** Measured runs have the seeds 1, 2, 3 and so on. */
const TUNING_SEED = 1001

interface Cell {
  readonly slack: number
  readonly weather: string
}

interface Outcome {
  readonly seconds: number
  readonly stallShare: number
}

/** What it costs that learners wait for each other, and what it costs that they do not. */
export const staleness: Bench = {
  summary: 'seconds to a test loss under parameter-server with slack, against slack 0, with and without learners that stall at random',
  filters: [
    'default: lenet on digits with 2 learners, s1 and s3, steady and stalls',
    's1, s2 ... (slack), steady, stalls',
    'push-pull: how long a learner waits for an exchange over a link, by when it pushes and pulls; with resnet20 (the default) or vgg16; nothing else'
  ],
  takes: ['pairs', 'save'],
  async run(filters, options) {
    if (filters.includes('push-pull')) return pushAndPull(filters, options)
    const { slacks, weathers } = chosen(filters)
    const table = new Table([22, 10, 10, 8, 16, 9, 9, 9], options.json ? null : process.stdout)
    table.row(['case', 'seconds', 's0', 'ratio', 'quartiles', 'reached', 'stalled', 's0'])
    const results: Result[] = []
    for (const weather of weathers) {
      const rates = new Map<number, number>()
      for (const slack of [0, ...slacks]) rates.set(slack, await bestRate({ slack, weather }))
      const outcomes = await runsInTurns([0, ...slacks], weather, rates, options)
      for (const slack of slacks) {
        const result = compared({ slack, weather }, outcomes, rates)
        results.push(result)
        if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
        table.row([
          result.case,
          result.value.toFixed(2),
          result.peerValue.toFixed(2),
          result.ratio.toFixed(3),
          result.quartiles.map((each) => each.toFixed(2)).join(' to '),
          `${result.reached}/${result.n}`,
          `${(100 * result.stallShare).toFixed(1)}%`,
          `${(100 * result.peerStallShare).toFixed(1)}%`
        ])
      }
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}

async function pushAndPull(filters: readonly string[], options: BenchOptions): Promise<void> {
  const wrong = filters.find((word) => word !== 'push-pull' && !isModelOfStalls(word))
  if (wrong !== undefined) throw new ArbalestError('INVALID_OPTION', `filters: received ${wrong} with push-pull; use resnet20 or vgg16`)
  const table = new Table([30, 10, 10, 12, 8, 16], options.json ? null : process.stdout)
  table.row(['case', 'Mbit/s', 'stalled', 'early whole', 'ratio', 'quartiles'])
  const results = await exchangeStalls(filters, options, (result) => {
    if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
    table.row([
      result.case,
      result.linkMbit.toFixed(0),
      `${(100 * result.stallShare).toFixed(1)}%`,
      `${(100 * result.peerStallShare).toFixed(1)}%`,
      result.ratio.toFixed(3),
      result.quartiles.map((each) => each.toFixed(2)).join(' to ')
    ])
  })
  if (options.save !== undefined) await saveResults(options.save, results)
}

function chosen(filters: readonly string[]): { readonly slacks: readonly number[]; readonly weathers: readonly string[] } {
  const isSlack = (word: string) => /^s[1-9]\d?$/.test(word)
  const wrong = filters.find((word) => !isSlack(word) && !Object.hasOwn(WEATHERS, word))
  if (wrong !== undefined)
    throw new ArbalestError(
      'INVALID_OPTION',
      `filters: received ${wrong}; use slacks as s1 and s3, and ${Object.keys(WEATHERS).join(', ')}`
    )
  const slacks = filters.filter(isSlack).map((word) => Number(word.slice(1)))
  const weathers = filters.filter((word) => !isSlack(word))
  return { slacks: slacks.length > 0 ? slacks : SLACKS, weathers: weathers.length > 0 ? weathers : Object.keys(WEATHERS) }
}

/** All slacks once for each seed: if the machine's speed drifts, all of them change. */
async function runsInTurns(
  slacks: readonly number[],
  weather: string,
  rates: ReadonlyMap<number, number>,
  { pairs }: BenchOptions
): Promise<ReadonlyMap<number, readonly Outcome[]>> {
  const outcomes = new Map<number, Outcome[]>(slacks.map((slack) => [slack, []]))
  for (let seed = 1; seed <= pairs; seed++)
    for (const slack of slacks) outcomes.get(slack)!.push(await timeToLoss({ slack, weather }, rates.get(slack)!, seed))
  return outcomes
}

function compared({ slack, weather }: Cell, outcomes: ReadonlyMap<number, readonly Outcome[]>, rates: ReadonlyMap<number, number>): Result {
  const [ours, peers] = [outcomes.get(slack)!, outcomes.get(0)!]
  const secondsOf = (each: readonly Outcome[]) => each.map(({ seconds }) => seconds)
  const reachedBy = (each: readonly Outcome[]) => each.filter(({ seconds }) => seconds < Infinity).length
  const stallShareOf = (each: readonly Outcome[]) => median(each.map(({ stallShare }) => stallShare))
  const { value, peerValue, ...ratios } = comparison(secondsOf(peers), secondsOf(ours))
  return {
    bench: 'staleness',
    case: `lenet k${LEARNERS} s${slack} ${weather}`,
    peer: 's0',
    unit: 'seconds',
    ...ratios,
    value: peerValue,
    peerValue: value,
    reached: reachedBy(ours),
    peerReached: reachedBy(peers),
    stallShare: stallShareOf(ours),
    peerStallShare: stallShareOf(peers),
    learningRate: rates.get(slack)!,
    peerLearningRate: rates.get(0)!
  }
}

async function bestRate(cell: Cell): Promise<number> {
  let best = { rate: RATES[0]!, seconds: Infinity }
  for (const rate of RATES) {
    const { seconds } = await timeToLoss(cell, rate, TUNING_SEED)
    if (seconds < best.seconds) best = { rate, seconds }
  }
  return best.rate
}

async function timeToLoss({ slack, weather }: Cell, learningRate: number, seed: number): Promise<Outcome> {
  const job = train({
    model: 'lenet',
    data: 'digits',
    batch: 16,
    learners: LEARNERS,
    synchroniser: { name: 'parameter-server', slack },
    optimiser: { learningRate, milestones: [] },
    learner: new URL('./stalling-learner.js', import.meta.url),
    learnerOptions: WEATHERS[weather],
    until: { loss: LOSS, steps: LONGEST_STEPS },
    evaluateEvery: 0.05,
    seed
  })
  let waited = 0
  try {
    for await (const { members } of job.actors.synchroniser.rounds()) for (const member of members) waited += member.waited
    const { reason, seconds } = await job.finished
    return { seconds: reason === 'loss' ? seconds : Infinity, stallShare: waited / (LEARNERS * seconds) }
  } catch (error) {
    // The learning rate is too high for such slack.
    if (error instanceof ArbalestError && error.code === 'LOSS_NOT_FINITE') return { seconds: Infinity, stallShare: NaN }
    throw error
  }
}
