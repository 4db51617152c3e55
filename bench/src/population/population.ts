import type { Bench, BenchOptions } from '../bench.js'
import type { Comparison } from '../pairs.js'
import { saveResults } from '../results.js'
import { Table } from '../table.js'
import { BATCH, neighbourOf, shareOfBest, sweep, SWEPT, type Load, type Rates } from './sweep.js'
import { TunedRun, type Found } from './tuned-run.js'

const MODELS = ['lenet', 'resnet20']
const STARTS = [1, 2, 4, 6]
const LOADS = ['idle', 'busy'] as const

/** The machine's load while a run searches; `change`: it was idle until the run had settled, then busy. */
type Course = Load | 'change'

/** One line of `--json`. */
interface Result extends Found {
  readonly bench: 'population'
  readonly model: string
  readonly course: Course
  readonly start: number
  /** What the found population trains of what the sweep's best one does at that load: 1 where it is the best one, null where none was found. */
  readonly share: number | null
  /** The pairs of windows behind the share; null where there is nothing to compare. */
  readonly comparison: Comparison | null
  readonly sweeps: Readonly<Record<Load, Rates>>
}

/** What a run finds from a start: on an idle machine and when the load changes then, or on a busy one. */
async function tuned(model: string, start: number, load: Load): Promise<readonly (readonly [Course, Found])[]> {
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

/** Every start, idle, then busy half-way, then busy from the first; each with its share of what the sweep's best trains. */
async function* searches(model: string, sweeps: Result['sweeps'], options: BenchOptions): AsyncGenerator<Result> {
  for (const load of LOADS) {
    for (const start of STARTS) {
      for (const [course, found] of await tuned(model, start, load)) {
        const at = course === 'idle' ? 'idle' : 'busy'
        const none = found.learners === null
        const comparison = none ? null : await shareOfBest(model, found.learners, at, sweeps[at], options)
        yield { bench: 'population', model, course, start, share: none ? null : (comparison?.ratio ?? 1), comparison, sweeps, ...found }
      }
    }
  }
}

/** A sweep over populations, and what the tuner settles on from several starts: idle, beside a busy process, and where that comes later. */
export const population: Bench = {
  summary: 'the population that the tuner finds, against a full sweep',
  filters: [`models: ${MODELS.join(', ')}`],
  async run(filters, options) {
    const results: Result[] = []
    const table = new Table([28, 8, 10, 10, 10], options.json ? null : process.stdout, { words: 1 })
    for (const model of filters.length > 0 ? filters : [MODELS[0]!]) {
      const sweeps = { idle: await sweep(model, 'idle', options), busy: await sweep(model, 'busy', options) }
      table.row([`${model} b${BATCH}`, ...SWEPT.map(String)])
      for (const load of LOADS) table.row([`  ${load}, images/s`, ...sweeps[load].map((rate) => rate.toFixed(0))])
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

function cells({ course, start, learners, share, seconds }: Result): string[] {
  const ofBest = share === null ? '' : `${(100 * share).toFixed(0)}%`
  return [`  ${course === 'change' ? 'idle, then busy' : course}`, String(start), String(learners ?? 'none'), ofBest, seconds.toFixed(0)]
}
