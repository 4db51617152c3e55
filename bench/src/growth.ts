import { readFileSync } from 'node:fs'
import type { Bench, BenchOptions } from './bench.js'
import { chosenCases, rateUnitOf, workOfStep, type Case, type RateUnit, type UsualCases } from './cases.js'
import { invalidOption } from './errors.js'
import { measureStep, roundSeconds, type ManyCores, type MeasuredStep } from './many-cores.js'
import { startOurs } from './ours.js'
import { comparison, type Comparison } from './pairs.js'
import { saveResults } from './results.js'
import type { Side } from './side.js'
import { Table } from './table.js'

/** Bytes per second of twelve channels of DDR5-4800, as a server of 64 cores has them. */
const SERVER_MEMORY = 460e9

const USUAL: UsualCases = { models: ['lenet', 'resnet20'], batches: [16], learners: [1, 2, 4, 8, 16], precisions: ['f32'] }

/** One line of `--json`: learners on some cores, against one learner on the same cores. */
interface Result extends Comparison {
  readonly bench: 'growth'
  /** As of throughput, with the number of cores: `lenet b16 k4 f32 c2`. */
  readonly case: string
  readonly peer: 'k1'
  readonly unit: RateUnit
  /** Memory that a further learner takes, as the run tells it. */
  readonly bytesPerLearner: number
  /** The most that was resident for all learners, without the samples. */
  readonly residentBytes: number
}

/** The cores that this process may use. */
function allowedCores(): readonly number[] {
  const [, list = '0'] = /^Cpus_allowed_list:\s+(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })
}

/** The numbers of cores that are named. If none is named: 1, 2, 4 and so on, and last all that are allowed. Throws INVALID_OPTION. */
export function chosenCores(named: readonly number[], allowed: number): readonly number[] {
  const missing = named.find((count) => count > allowed)
  if (missing !== undefined)
    throw invalidOption(
      'cores',
      `c${missing}`,
      `this process may use ${allowed}: give c1 to c${allowed}, or s${missing} for what the cost model says`
    )
  if (named.length > 0) return named
  const doubled = Array.from({ length: Math.floor(Math.log2(allowed)) + 1 }, (_, i) => 2 ** i)
  return doubled.includes(allowed) ? doubled : [...doubled, allowed]
}

/** One line of `--json` of a machine that is not there: what the cost model says of it. */
interface Simulated {
  readonly bench: 'growth'
  readonly case: string
  readonly simulated: ManyCores
  readonly unit: RateUnit
  readonly value: number
  readonly ratio: number
}

/** The numbers after a letter in words like `c2`. */
function numbered(words: readonly string[], letter: string): readonly number[] {
  return words.filter((word) => new RegExp(`^${letter}[1-9]\\d*$`).test(word)).map((word) => Number(word.slice(1)))
}

/** The cases of the words that are no numbers of cores. Throws UNKNOWN_NAME. */
export function casesIn(words: readonly string[]): readonly Case[] {
  return chosenCases(
    words.filter((word) => !/^[cs][1-9]\d*$/.test(word)),
    USUAL
  )
}

/** All numbers of learners take their windows in turns: if the machine's speed drifts, all rates change. */
async function measure(cases: readonly Case[], cores: readonly number[], { pairs, seconds }: BenchOptions): Promise<readonly Result[]> {
  const sides: Side[] = []
  try {
    const single = cases.findIndex(({ learners }) => learners === 1)
    for (const one of cases) sides.push(await startOurs({ ...one, cores }))
    if (single < 0) sides.push(await startOurs({ ...cases[0]!, learners: 1, cores }))
    const rates = sides.map((): number[] => [])
    for (let turn = 0; turn < pairs; turn++) for (const [i, side] of sides.entries()) rates[i]!.push(await side.run(seconds))
    const alone = rates.at(single)!
    return cases.map((one, i) => {
      const { bytesPerLearner, residentBytes } = sides[i]!.greeting
      return {
        bench: 'growth',
        case: `${one.name} c${cores.length}`,
        peer: 'k1',
        unit: rateUnitOf(one.model),
        ...comparison(rates[i]!, alone),
        bytesPerLearner: Number(bytesPerLearner),
        residentBytes: Number(residentBytes)
      }
    })
  } finally {
    for (const side of sides) side.close()
  }
}

/** Cases that differ in their number of learners alone. */
function byModel(cases: readonly Case[]): readonly (readonly Case[])[] {
  const groups = new Map<string, Case[]>()
  for (const one of cases) {
    const key = [one.model, one.batch, one.precision].join(' ')
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups.values()]
}

export function simulate(cases: readonly Case[], step: MeasuredStep, host: ManyCores): readonly Simulated[] {
  const rate = (one: Case): number => workOfStep(one) / roundSeconds(one.learners, step, host)
  return cases.map((one) => ({
    bench: 'growth',
    case: `${one.name} s${host.cores}`,
    simulated: host,
    unit: rateUnitOf(one.model),
    value: rate(one),
    ratio: rate(one) / rate({ ...one, learners: 1 })
  }))
}

/** What more learners, and more cores, are worth and what they take. */
export const growth: Bench = {
  summary: 'images/s, or of texts tokens/s, and memory by the number of learners and of cores, against one learner on the same cores',
  filters: [
    'default: lenet resnet20 b16 k1 k2 k4 k8 k16 f32, on 1, 2, 4 and so on cores; words as of throughput, and c2 (cores)',
    's64: what the cost model says of a machine with 64 cores; nothing is measured but the step of one learner'
  ],
  takes: ['pairs', 'seconds', 'save'],

  async run(filters, options) {
    const words = filters.flatMap((filter) => filter.split(/\s+/))
    const [cores, simulated] = [numbered(words, 'c'), numbered(words, 's')]
    const chosen = byModel(casesIn(words))
    const allowed = allowedCores()
    const table = new Table([28, 10, 8, 15, 14, 14], options.json ? null : process.stdout)
    table.row(['case', 'units/s', 'of k1', 'min-max', 'MiB a learner', 'MiB resident'])
    const results: object[] = []
    const tell = (result: Result | Simulated, more: readonly string[]): void => {
      results.push(result)
      if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
      table.row([result.case, result.value.toFixed(0), result.ratio.toFixed(2), ...more])
    }
    const inMiB = (bytes: number, digits: number): string => (bytes / 2 ** 20).toFixed(digits)
    for (const count of cores.length === 0 && simulated.length > 0 ? [] : chosenCores(cores, allowed.length)) {
      for (const cases of chosen) {
        for (const result of await measure(cases, allowed.slice(0, count), options)) {
          const { min, max, bytesPerLearner, residentBytes } = result
          tell(result, [`${min.toFixed(2)}-${max.toFixed(2)}`, inMiB(bytesPerLearner, 1), inMiB(residentBytes, 0)])
        }
      }
    }
    for (const count of simulated) {
      for (const cases of chosen) {
        const host = { cores: count, memoryBytesPerSecond: SERVER_MEMORY }
        for (const result of simulate(cases, await measureStep(cases[0]!, options.seconds), host)) tell(result, ['simulated'])
      }
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}
