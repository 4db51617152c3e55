import { execFile, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { TrainOptions } from './arbalest.js'
import type { Bench, BenchOptions } from './bench.js'
import { saveResults } from './results.js'
import { median } from './statistics.js'
import { Table } from './table.js'

const CHILD = fileURLToPath(new URL('population-child.js', import.meta.url))
const MODELS = ['lenet', 'resnet20']
const BATCH = 16
const SWEPT = [1, 2, 3, 4, 5, 6]
const STARTS = [1, 2, 4, 6]

/** A tuned run lasts so many windows of the bench: long enough to look at every population and to settle. */
const TUNED_WINDOWS = 16

interface Stretch {
  readonly imagesPerSecond: number
  /** At its end. */
  readonly learners: number
}

interface Run {
  readonly firstHalf: Stretch
  readonly secondHalf: Stretch
  readonly decisions: readonly string[]
}

type Load = 'idle' | 'busy'

/** One line of `--json`. */
interface Result {
  readonly bench: 'population'
  readonly model: string
  /** Of the machine, in both halves of the run. */
  readonly load: readonly [Load, Load]
  readonly start: number
  readonly chosen: readonly [number, number]
  /** What the chosen population trains in the sweep, of what the best one trains there, in both halves. */
  readonly share: readonly [number, number]
  readonly decisions: readonly string[]
  /** Images a second of one learner, two and so on, by the machine's load. */
  readonly sweeps: Readonly<Record<Load, readonly number[]>>
}

/** Images a second of each population. */
type Sweep = ReadonlyMap<number, number>

/** Takes a whole core until it is disposed of. */
function busyNeighbour(): Disposable {
  const child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  return {
    [Symbol.dispose]: () => {
      process.off('exit', kill)
      kill()
    }
  }
}

async function run(model: string, learners: TrainOptions['learners'], seconds: number, loads: readonly [Load, Load]): Promise<Run> {
  const neighbours = loads[0] === 'busy' ? [busyNeighbour()] : []
  const comesLater = loads[0] === 'idle' && loads[1] === 'busy'
  const timer = setTimeout(() => comesLater && neighbours.push(busyNeighbour()), (1000 * seconds) / 2 + 1000)
  try {
    const args = [CHILD, model, String(BATCH), JSON.stringify(learners), String(seconds)]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    return JSON.parse(stdout) as Run
  } finally {
    clearTimeout(timer)
    for (const neighbour of neighbours) neighbour[Symbol.dispose]()
  }
}

/** Populations in turns, so that a machine whose speed drifts moves them all. */
async function sweep(model: string, load: Load, { pairs, seconds }: BenchOptions): Promise<Sweep> {
  const rates = new Map<number, number[]>(SWEPT.map((learners) => [learners, []]))
  for (let turn = 0; turn < pairs; turn++)
    for (const learners of SWEPT) rates.get(learners)!.push((await run(model, learners, seconds, [load, load])).secondHalf.imagesPerSecond)
  return new Map([...rates].map(([learners, each]) => [learners, median(each)]))
}

const percent = (share: number) => `${(100 * share).toFixed(0)}%`

/** A sweep over populations, and what the tuner chooses from several starts: idle, beside a busy process, and where that comes half-way. */
export const population: Bench = {
  summary: 'the population that the tuner finds, against a full sweep',
  filters: [`models: ${MODELS.join(', ')}`],
  async run(filters, options) {
    const results: Result[] = []
    const table = new Table([28, 8, 10, 10, 10], options.json ? null : process.stdout, { words: 1 })
    for (const model of filters.length > 0 ? filters : [MODELS[0]!]) {
      const sweeps: Readonly<Record<Load, Sweep>> = { idle: await sweep(model, 'idle', options), busy: await sweep(model, 'busy', options) }
      table.row([`${model} b${BATCH}`, ...SWEPT.map(String)])
      for (const load of ['idle', 'busy'] as const)
        table.row([`  ${load}, images/s`, ...[...sweeps[load].values()].map((rate) => rate.toFixed(0))])
      table.row(['tuned', 'start', 'chosen', 'of best', 'then', 'of best'])
      for (const load of [
        ['idle', 'idle'],
        ['busy', 'busy'],
        ['idle', 'busy']
      ] as const)
        for (const start of STARTS) {
          const { firstHalf, secondHalf, decisions } = await run(
            model,
            { start, most: SWEPT.length },
            TUNED_WINDOWS * options.seconds,
            load
          )
          const shareOf = (which: Load, learners: number) => sweeps[which].get(learners)! / Math.max(...sweeps[which].values())
          const chosen = [firstHalf.learners, secondHalf.learners] as const
          const share = [shareOf(load[0], chosen[0]), shareOf(load[1], chosen[1])] as const
          const rates = { idle: [...sweeps.idle.values()], busy: [...sweeps.busy.values()] }
          const result: Result = { bench: 'population', model, load, start, chosen, share, decisions, sweeps: rates }
          results.push(result)
          if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
          table.row([
            `  ${load.join(', then ')}`,
            String(start),
            String(chosen[0]),
            percent(share[0]),
            String(chosen[1]),
            percent(share[1])
          ])
        }
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}
