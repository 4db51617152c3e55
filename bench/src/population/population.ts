import type { Bench, BenchOptions } from '../bench.js'
import { rateUnitOf, workloadOf } from '../cases.js'
import type { Comparison } from '../pairs.js'
import { saveResults } from '../results.js'
import { Table } from '../table.js'
import { BATCH, neighbourOf, shareOfBest, sweep, SWEPT, type Load, type Rates } from './sweep.js'
import { TunedRun, type Found } from './tuned-run.js'

const MODELS = ['lenet', 'resnet20']
const STARTS = [1, 2, 4, 6]
const LOADS = ['idle', 'busy'] as const

/** The machine's load during a search; `change`: idle until the run has settled, then busy. */
type SearchLoad = Load | 'change'

/** One line of `--json`. */
interface Result extends Found {
  readonly bench: 'population'
  readonly model: string
  readonly load: SearchLoad
  readonly start: number
  /** The rate of the found population, divided by that of the best one of the sweep at this load; null if none was found. */
  readonly share: number | null
  /** The windows from which the share was computed; null if the best one was found, or none. */
  readonly comparison: Comparison | null
  readonly sweeps: Readonly<Record<Load, Rates>>
}

/** The results of a run that starts with `start` learners: on a busy machine, or on an idle one and again after the load has changed. */
async function tuned(model: string, start: number, load: Load): Promise<readonly (readonly [SearchLoad, Found])[]> {
  using _ = neighbourOf(load)
  using run = new TunedRun(model, BATCH, start, SWEPT.length)
  const first = await run.first()
  if (load === 'busy') return [['busy', first]]
  using __ = neighbourOf('busy')
  return [
    ['idle', first],
    ['change', await run.afterChange()]
  ]
}

/** Searches from every start: on an idle machine, after a change to a busy one, and on a busy one from the beginning. */
async function* searches(model: string, sweeps: Result['sweeps'], options: BenchOptions): AsyncGenerator<Result> {
  for (const first of LOADS) {
    for (const start of STARTS) {
      for (const [load, found] of await tuned(model, start, first)) {
        const at = load === 'idle' ? 'idle' : 'busy'
        const none = found.learners === null
        const comparison = none ? null : await shareOfBest(model, found.learners, at, sweeps[at], options)
        yield { bench: 'population', model, load, start, share: none ? null : (comparison?.ratio ?? 1), comparison, sweeps, ...found }
      }
    }
  }
}

/** A sweep over populations, and the populations on which the tuner settles from several starts: on an idle machine, beside a busy process, and after a change. */
export const population: Bench = {
  summary: 'the population that the tuner finds, against a full sweep',
  filters: [`models: ${MODELS.join(', ')}`],
  takes: ['pairs', 'seconds', 'save'],
  async run(filters, options) {
    // A model that is unknown is an error before the first sweep, and not after it.
    for (const model of filters) workloadOf(model)
    const results: Result[] = []
    const table = new Table([28, 8, 10, 10, 10], options.json ? null : process.stdout, { words: 1 })
    for (const model of filters.length > 0 ? filters : [MODELS[0]!]) {
      const sweeps = { idle: await sweep(model, 'idle', options), busy: await sweep(model, 'busy', options) }
      table.row([`${model} b${BATCH}`, ...SWEPT.map(String)])
      for (const load of LOADS) table.row([`  ${load}, ${rateUnitOf(model)}`, ...sweeps[load].map((rate) => rate.toFixed(0))])
      table.row(['tuned', 'start', 'found', 'of best', 'seconds'])
      for await (const result of searches(model, sweeps, options)) {
        results.push(result)
        if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
        table.row(cells(result))
      }
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}

function cells({ load, start, learners, share, seconds }: Result): string[] {
  const ofBest = share === null ? '' : `${(100 * share).toFixed(0)}%`
  return [`  ${load === 'change' ? 'idle, then busy' : load}`, String(start), String(learners ?? 'none'), ofBest, seconds.toFixed(0)]
}
