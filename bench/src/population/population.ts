import type { Bench, BenchOptions } from '../bench.js'
import { startOurs } from '../ours.js'
import { saveResults } from '../results.js'
import { median } from '../statistics.js'
import { Table } from '../table.js'
import { busyNeighbour } from './busy-neighbour.js'
import { TunedRun, type Found } from './tuned-run.js'

const MODELS = ['lenet', 'resnet20']
const BATCH = 16
const SWEPT = [1, 2, 3, 4, 5, 6]
const STARTS = [1, 2, 4, 6]

type Load = 'idle' | 'busy'
/** Of the machine while a run searches; `change`: it was idle until the run had settled, then busy. */
type Course = Load | 'change'

/** One line of `--json`. */
interface Result extends Found {
  readonly bench: 'population'
  readonly model: string
  readonly course: Course
  readonly start: number
  /** What the found population trains in the sweep at that load, of what the best one trains there. */
  readonly share: number | null
  /** Images a second of one learner, two and so on, by the machine's load. */
  readonly sweeps: Readonly<Record<Load, readonly number[]>>
}

/** Images a second of each population, in turns, so that a machine whose speed drifts moves them all. */
async function sweep(model: string, load: Load, { pairs, seconds }: BenchOptions): Promise<readonly number[]> {
  const rates = SWEPT.map((): number[] => [])
  for (let turn = 0; turn < pairs; turn++) {
    for (const [i, learners] of SWEPT.entries()) {
      const side = await startOurs({ model, batch: BATCH, learners, precision: 'f32' })
      const neighbour = load === 'busy' ? busyNeighbour() : undefined
      try {
        rates[i]!.push(await side.run(seconds))
      } finally {
        neighbour?.[Symbol.dispose]()
        side.close()
      }
    }
  }
  return rates.map(median)
}

/** What a run finds from a start: on an idle machine and when the load changes then, or on a busy one. */
async function tuned(model: string, start: number, load: Load): Promise<readonly (readonly [Course, Found])[]> {
  const busy = load === 'busy' ? busyNeighbour() : undefined
  try {
    using run = new TunedRun(model, BATCH, start, SWEPT.length)
    const first = await run.first()
    if (busy) return [['busy', first]]
    using _ = busyNeighbour()
    return [
      ['idle', first],
      ['change', await run.afterChange()]
    ]
  } finally {
    busy?.[Symbol.dispose]()
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
      for (const load of ['idle', 'busy'] as const) table.row([`  ${load}, images/s`, ...sweeps[load].map((rate) => rate.toFixed(0))])
      table.row(['tuned', 'start', 'found', 'of best', 'seconds'])
      for (const load of ['idle', 'busy'] as const) {
        for (const start of STARTS) {
          for (const [course, found] of await tuned(model, start, load)) {
            const rates = sweeps[course === 'idle' ? 'idle' : 'busy']
            const share = found.learners === null ? null : rates[found.learners - 1]! / Math.max(...rates)
            const result: Result = { bench: 'population', model, course, start, share, sweeps, ...found }
            results.push(result)
            if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
            table.row([
              `  ${course === 'change' ? 'idle, then busy' : course}`,
              String(start),
              String(found.learners ?? 'none'),
              share === null ? '' : `${(100 * share).toFixed(0)}%`,
              found.seconds.toFixed(0)
            ])
          }
        }
      }
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}
