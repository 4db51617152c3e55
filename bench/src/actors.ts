import { fileURLToPath } from 'node:url'
import type { Bench, BenchOptions } from './bench.js'
import { CASES, chosenActorCases, PEERS, type ActorCase, type CaseName } from './actors/cases.js'
import { compare, type Comparison } from './pairs.js'
import { saveResults } from './results.js'
import { Side } from './side.js'
import { Table } from './table.js'

/** One line of `--json`. */
interface Result extends Comparison {
  readonly bench: 'actors'
  readonly case: string
  readonly peer: string
  /** The thread of both sides' actors: a worker, or the caller's thread. */
  readonly place: ActorCase['place']
  readonly unit: string
}

/** The unit in which a case is reported, and its value from a rate per second. The ratio is always that of the rates, also for units in which less is better. */
const UNITS: Readonly<Record<CaseName, { readonly unit: string; readonly from: (rate: number) => number }>> = {
  'ask-round-trip': { unit: 'us', from: (rate) => 1e6 / rate },
  'ask-pipelined': { unit: 'asks/s', from: (rate) => rate },
  tell: { unit: 'tells/s', from: (rate) => rate },
  spawn: { unit: 'ms', from: (rate) => 1e3 / rate },
  idle: { unit: 'ms CPU/s', from: (rate) => 1e3 / rate }
}

function start({ name }: ActorCase, contestant: string): Promise<Side> {
  const file = fileURLToPath(new URL('actors/child.js', import.meta.url))
  return Side.start([{ program: process.execPath, args: [file, name, contestant] }])
}

async function measure(one: ActorCase, options: BenchOptions): Promise<Result> {
  const sides: Side[] = []
  try {
    for (const contestant of [one.place, one.peer]) sides.push(await start(one, contestant))
    const compared = await compare(sides[0]!, sides[1]!, options)
    const { unit, from } = UNITS[one.name]
    const told = { value: from(compared.value), peerValue: from(compared.peerValue) }
    return { bench: 'actors', case: one.name, peer: one.peer, place: one.place, unit, ...compared, ...told }
  } finally {
    for (const side of sides) side.close()
  }
}

const COLUMNS = [16, 13, 8, 11, 11, 7, 15] as const
const figure = (value: number): string => value.toFixed(value < 1 ? 3 : value < 1000 ? 1 : 0)

/** Messages between threads and within one: this project's actors against bare postMessage and popular libraries. */
export const actors: Bench = {
  summary: 'asks, tells and starts of actors against postMessage, comlink, threads and nact',
  filters: [`cases ${CASES.join(' ')};`, `peers ${PEERS.join(' ')} (nact in the caller’s thread)`],
  takes: ['pairs', 'seconds', 'save'],

  async run(filters, options) {
    const cases = chosenActorCases(filters)
    const table = new Table(COLUMNS, options.json ? null : process.stdout, { words: 3 })
    table.row(['case', 'peer', 'unit', 'Arbalest', 'peer', 'ratio', 'min-max'])
    const results: Result[] = []
    for (const one of cases) {
      const result = await measure(one, options)
      results.push(result)
      if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
      table.row([
        result.case,
        result.peer,
        result.unit,
        figure(result.value),
        figure(result.peerValue),
        result.ratio.toFixed(2),
        `${result.min.toFixed(2)}-${result.max.toFixed(2)}`
      ])
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}
