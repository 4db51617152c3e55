import { loadavg } from 'node:os'
import { crossover, openDataset, type CrossoverFinishedEvent, type PolicyEvent, type TrainOptions } from './arbalest.js'
import type { Bench } from './bench.js'
import { workloadOf } from './cases.js'
import { ArbalestError } from './errors.js'
import { randomDataset } from './random-dataset.js'
import { saveResults } from './results.js'
import { ddpSteps } from './ddp-steps.js'
import { Laboratory } from './hosts/laboratory.js'
import { pythonsWithTorch } from './python.js'
import { median } from './statistics.js'
import { Table } from './table.js'

/** One line of `--json`: two jobs on one device by a policy, beside the same jobs otherwise. */
interface Result {
  readonly bench: 'crossover'
  /** Models, rule, link and policy: `resnet20+vgg16 ssgd 200mbit crossed`. */
  readonly case: string
  readonly peer: 'sequential' | 'shared' | 'bound' | 'ddp-shared'
  /** How many times as fast as one after the other. */
  readonly unit: 'gain'
  readonly value: number
  readonly peerValue: number
  readonly ratio: number
  /** Of the policy's paces. */
  readonly jain: number
  /** How often all policies were compared, and the range of the ratios. */
  readonly n: number
  readonly min: number
  readonly max: number
  /** What `auto` kept, each time, and the part of the learners' time that their turns took. */
  readonly kept?: readonly string[]
  readonly lease?: number
  /** Processor time in the calls of the lease, by the time of the turns on the learners' cores. */
  readonly leaseProcessor?: number
  /** Seconds from the first step of both jobs to the choice. */
  readonly chosenAfter?: number
  /** Processes that wanted to run, on average over a minute, at the end. */
  readonly load: number
}

const PAIRS = ['resnet20+resnet20', 'resnet20+lenet', 'resnet20+gpt', 'resnet20+vgg16']
const RULES = ['ssgd', 'local-sgd', 'sma'] as const
const LINKS = ['50mbit', '200mbit', '1gbit', 'unshaped']
/** Processes of a job of PyTorch DDP, each on a host of its own. */
const DDP_HOSTS = 2
const BATCHES: Readonly<Record<string, number>> = { resnet20: 16, lenet: 32, vgg16: 8, mlp: 32, gpt: 2 }

type Rule = (typeof RULES)[number]

interface Cell {
  readonly models: string
  readonly rule: Rule
  readonly link: string
}

/** A filter of several words, as `resnet20+lenet ssgd 200mbit`, is a set of cells of its own; single words make one set together. */
function chosenCells(filters: readonly string[]): readonly Cell[] {
  const single = filters.filter((filter) => !filter.includes(' '))
  const sets = filters.filter((filter) => filter.includes(' ')).map((filter) => filter.split(/\s+/))
  return [...sets, ...(sets.length === 0 || single.length > 0 ? [single] : [])].flatMap(cellsOf)
}

function cellsOf(words: readonly string[]): readonly Cell[] {
  const isPair = (word: string) => /^\w+\+\w+$/.test(word)
  const unknown = words.filter((word) => !isPair(word) && ![...RULES, ...LINKS].includes(word))
  if (unknown.length > 0)
    throw new ArbalestError(
      'INVALID_OPTION',
      `filters: received ${unknown.join(' ')}; use pairs as ${PAIRS[1]}, ${[...RULES, ...LINKS].join(', ')}, or ddp`
    )
  const of = <T extends string>(all: readonly T[], usual: readonly T[], isMeant = (word: string) => all.includes(word as T)) => {
    const named = words.filter((word): word is T => isMeant(word))
    return named.length > 0 ? named : usual
  }
  const [pairs, rules, links] = [of(PAIRS, PAIRS, isPair), of(RULES, ['ssgd']), of(LINKS, ['200mbit', 'unshaped'])]
  return pairs.flatMap((models) => rules.flatMap((rule) => links.map((link) => ({ models, rule, link }))))
}

function jobOf(model: string, { rule, link }: Cell, learners: number): TrainOptions {
  return {
    model,
    ...(model === 'gpt' ? { data: 'tinyshakespeare', context: 64 } : { data: randomDataset(workloadOf(model)) }),
    batch: BATCHES[model] ?? 16,
    learners,
    optimiser: { learningRate: 0.001 },
    synchroniser: rule,
    hosts: 'loopback',
    ...(link !== 'unshaped' && { link: link.replace('mbit', 'Mbit').replace('gbit', 'Gbit') }),
    until: { steps: 20_000_000 },
    // Never: it is no part of what is compared.
    evaluateEvery: 1e9,
    seed: 1
  }
}

/** A model that there is not, or whose data are missing, is an error before the first run, and not after other cells. */
async function checkJobs(cells: readonly Cell[]): Promise<void> {
  for (const model of new Set(cells.flatMap(({ models }) => models.split('+')))) {
    workloadOf(model)
    if (model === 'gpt') await openDataset('tinyshakespeare')
  }
}

/** Throws BACKEND_UNAVAILABLE where jobs of PyTorch cannot run beside. */
async function checkDdp(): Promise<void> {
  const reason = await Laboratory.reasonAgainst()
  if (reason !== undefined) throw new ArbalestError('BACKEND_UNAVAILABLE', `ddp: ${reason}`)
  await pythonsWithTorch()
}

interface Comparison {
  readonly compared: PolicyEvent
  readonly kept: CrossoverFinishedEvent
  /** Of the learners' time. */
  readonly lease: number
  readonly leaseProcessor: number
  readonly chosenAfter: number
  /** Two jobs of PyTorch DDP that share the device plainly, in times as fast as ours one after the other; NaN where it was not measured. */
  readonly ddp: number
}

interface MeasureOptions {
  readonly learners: number
  readonly seconds: number
  readonly withDdp: boolean
  readonly withLease: boolean
}

/** One run by `auto`, which compares all policies in turns, and then keeps the fastest for so many seconds. */
async function measure(cell: Cell, { learners, seconds, withDdp, withLease }: MeasureOptions): Promise<Comparison> {
  const pair = crossover(
    cell.models.split('+').map((model) => jobOf(model, cell, learners)),
    { policy: 'auto' }
  )
  let compared: PolicyEvent | undefined
  let began = NaN
  let chosenAfter = NaN
  for await (const event of pair) {
    if (event.event === 'failed') {
      pair.stop()
      throw new ArbalestError('INTERNAL', `${cell.models}, job ${event.job}: ${event.code}: ${event.message}`)
    }
    if (event.event === 'started') began = performance.now()
    if (event.event !== 'crossover') continue
    if (compared === undefined) chosenAfter = (performance.now() - began) / 1000
    if (compared === undefined) setTimeout(() => pair.stop(), 1000 * seconds)
    compared ??= event
  }
  const kept = await pair.finished
  if (!compared) throw new ArbalestError('INTERNAL', `${cell.models}: the jobs ended before the policies were compared`)
  const elapsed = (performance.now() - began) / 1000
  const lease = Math.max(...kept.jobs.map(({ leaseSeconds }) => leaseSeconds / learners / elapsed))
  const leaseProcessor = withLease ? await costOfTurns(cell, learners, seconds) : NaN
  const ddp = cell.rule === 'ssgd' && withDdp ? await gainOfDdp(cell, compared, seconds) : NaN
  return { compared, kept, lease, leaseProcessor, chosenAfter, ddp }
}

/** Processor time in the calls of the lease, by the time of the turns on as many cores as a job has learners, where jobs take turns from beginning to end: of the job of which it is the larger part. */
async function costOfTurns(cell: Cell, learners: number, seconds: number): Promise<number> {
  const pair = crossover(
    cell.models.split('+').map((model) => jobOf(model, cell, learners)),
    { policy: 'crossed' }
  )
  for await (const { event } of pair) if (event === 'crossover') setTimeout(() => pair.stop(), 1000 * seconds)
  const { jobs } = await pair.finished
  return Math.max(...jobs.map(({ leaseProcessorSeconds, computeSeconds }) => leaseProcessorSeconds / (learners * computeSeconds)))
}

/** By our own jobs' paces alone. */
async function gainOfDdp({ models, link }: Cell, { alone }: PolicyEvent, seconds: number): Promise<number> {
  const mbit = link === 'unshaped' ? undefined : Number.parseInt(link) * (link.endsWith('gbit') ? 1000 : 1)
  const jobs = models.split('+').map((model) => ({ model, batch: BATCHES[model] ?? 16 }))
  const rates = await ddpSteps(jobs, { hosts: DDP_HOSTS, seconds, ...(mbit !== undefined && { mbit }) })
  return rates.reduce((sum, rate, job) => sum + rate / alone[job]!, 0)
}

/** Each policy beside each peer, in the median of the comparisons that have both. */
function resultsOf({ models, rule, link }: Cell, comparisons: readonly Comparison[]): readonly Result[] {
  const all = comparisons.flatMap(({ compared: { measured }, kept, ddp }) => {
    const shared = measured.find(({ policy, evenly }) => policy === 'shared' && !evenly)!
    const policies = measured.map((each) => ({ ...each, name: each.evenly ? `${each.policy} evenly` : each.policy }))
    return [...policies, { ...kept, name: 'auto' }].map(({ name, gain, jain, predictedGain }) => ({
      name,
      jain,
      gain,
      peers: { sequential: 1, shared: shared.gain, bound: predictedGain, 'ddp-shared': ddp }
    }))
  })
  return [...new Set(all.map(({ name }) => name))].flatMap((name) => {
    const those = all.filter((each) => each.name === name)
    return (['sequential', 'shared', 'bound', 'ddp-shared'] as const)
      .filter((peer) => peer !== name && !those.some(({ peers }) => Number.isNaN(peers[peer])))
      .map((peer): Result => {
        const ratios = those.map(({ gain, peers }) => gain / peers[peer])
        return {
          bench: 'crossover',
          case: `${models} ${rule} ${link} ${name}`,
          peer,
          unit: 'gain',
          value: median(those.map(({ gain }) => gain)),
          peerValue: median(those.map(({ peers }) => peers[peer])),
          ratio: median(ratios),
          n: those.length,
          min: Math.min(...ratios),
          max: Math.max(...ratios),
          jain: median(those.map(({ jain }) => jain)),
          ...(name === 'auto' && {
            kept: comparisons.map(({ kept: { policy } }) => policy),
            lease: median(comparisons.map(({ lease }) => lease)),
            ...(!comparisons.some(({ leaseProcessor }) => Number.isNaN(leaseProcessor)) && {
              leaseProcessor: median(comparisons.map(({ leaseProcessor }) => leaseProcessor))
            }),
            chosenAfter: median(comparisons.map((each) => each.chosenAfter))
          }),
          load: loadavg()[0]!
        }
      })
  })
}

/** Two jobs on one device: by every policy, beside one after the other, plain sharing, and the bound. */
export const crossoverBench: Bench = {
  summary: 'two jobs on one device over a rated loopback link: each computes while the other exchanges',
  filters: [
    `pairs of models (${PAIRS.join(', ')}), rules (${RULES.join(', ')}), links (${LINKS.join(', ')})`,
    'default: all pairs, ssgd, 200mbit and unshaped',
    'single cells, each in quotes: "resnet20+vgg16 ssgd 200mbit" "resnet20+gpt sma 1gbit"',
    'ddp: beside S-SGD also two jobs of PyTorch DDP, in network namespaces (root); lease: processor time of turns, in a run of their own'
  ],
  takes: ['pairs', 'seconds', 'save'],
  async run(filters, options) {
    const table = new Table([42, 10, 10, 10, 10], options.json ? null : process.stdout)
    table.row(['case', 'sequential', 'shared', 'bound', 'ddp-shared'])
    const results: Result[] = []
    const extras = ['ddp', 'lease']
    const [withDdp, withLease] = extras.map((extra) => filters.includes(extra)) as [boolean, boolean]
    const cells = chosenCells(filters.filter((filter) => !extras.includes(filter)))
    await checkJobs(cells)
    if (withDdp) await checkDdp()
    for (const cell of cells) {
      const comparisons: Comparison[] = []
      for (let pair = 0; pair < options.pairs; pair++)
        comparisons.push(await measure(cell, { learners: 2, seconds: options.seconds, withDdp, withLease }))
      const rows = resultsOf(cell, comparisons)
      results.push(...rows)
      for (const row of rows) if (options.json) process.stdout.write(`${JSON.stringify(row)}\n`)
      for (const name of new Set(rows.map((row) => row.case))) {
        const ratio = (peer: string) => rows.find((row) => row.case === name && row.peer === peer)?.ratio.toFixed(2) ?? '-'
        table.row([name, ratio('sequential'), ratio('shared'), ratio('bound'), ratio('ddp-shared')])
      }
      const {
        kept = [],
        jain,
        lease = NaN,
        leaseProcessor = NaN,
        chosenAfter = NaN
      } = rows.find(({ case: name }) => name.endsWith(' auto'))!
      const percent = (part: number) => `${(100 * part).toFixed(2)}%`
      table.note(
        `auto keeps ${kept.join(', ')} after ${chosenAfter.toFixed(1)} s; Jain's index ${jain.toFixed(3)}; ` +
          `turns take ${percent(lease)} of the learners' time${Number.isNaN(leaseProcessor) ? '' : `, ${percent(leaseProcessor)} as processor time`}`
      )
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}
