import { loadavg } from 'node:os'
import type { BenchOptions } from '../bench.js'
import { comparison } from '../pairs.js'
import { pythonsWithTorch } from '../python.js'
import { median } from '../statistics.js'
import { rateName } from './cases.js'
import { Laboratory } from './laboratory.js'
import { openMpi } from './mpi.js'
import { reachable } from './reachable.js'
import type { Result } from './result.js'
import { METHODS, PERIOD, Runs, TASKS, type Method, type TtaOnHosts } from './tta.js'

/** Steps of a window, a multiple of the period. */
const STEPS = 64

/** Seconds of a step of every method, in windows of some steps, beside what computing and the links allow. Ratios are those of the peer's seconds by ours. */
export async function pace(one: TtaOnHosts, options: BenchOptions): Promise<readonly Result[]> {
  const [python] = await pythonsWithTorch()
  const task = { ...TASKS[one.model], target: 1, evaluate: STEPS, steps: STEPS }
  const mpi = openMpi()
  const runs = new Runs(one, mpi, python!, task)
  const stepOf = async (method: Method, mbit: number | undefined, seed: number) => {
    await using laboratory = await Laboratory.open(one.hosts, mbit)
    const { seconds, steps } = await runs.run(laboratory, method, task.rates[0]!, seed)
    return seconds / steps
  }
  const computing: number[] = []
  const found = new Map<Method, number[]>(METHODS.map((method) => [method, []]))
  for (let seed = 1; seed <= options.pairs; seed++) {
    computing.push(await stepOf('arbalest', undefined, seed))
    for (const [method, of] of found) of.push(await stepOf(method, one.mbit, seed))
  }
  const ours = found.get('arbalest')!
  return METHODS.slice(1).map((method): Result => {
    const theirs = found.get(method)!
    const inverse = comparison(theirs, ours)
    const measured = { computing: median(computing), step: median(ours), peerStep: median(theirs) }
    return {
      bench: 'hosts',
      case: `pace ${one.model} h${one.hosts} ${rateName(one.mbit)} ${one.rule}`,
      peer: method,
      unit: 's a step',
      peerMode: `PyTorch ${python!.torch}`,
      ...inverse,
      value: inverse.peerValue,
      peerValue: inverse.value,
      reachable: reachable({ ...one, period: PERIOD, bytes: task.bytes }, measured),
      period: PERIOD,
      mpi: mpi.name,
      load: loadavg()[0]!
    }
  })
}
