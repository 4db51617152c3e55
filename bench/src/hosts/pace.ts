import { loadavg } from 'node:os'
import type { BenchOptions } from '../bench.js'
import { comparison } from '../pairs.js'
import { pythonsWithTorch } from '../python.js'
import { RESULTS } from '../results.js'
import { median } from '../statistics.js'
import { rateName } from './cases.js'
import { Laboratory } from './laboratory.js'
import { openMpi } from './mpi.js'
import { reachable, type Reachable } from './reachable.js'
import { recordedPace, recordPace, type Pace } from './recorded-pace.js'
import type { Result } from './result.js'
import { PEER_NAMES, Runs, TASKS, type Method, type PeerName, type TtaOnHosts } from './tta.js'

/** Steps of a window: of methods that exchange in every step, and of those with a period, a multiple of it. */
const STEPS = 16
const PERIODIC_STEPS = 64

/**
 * Measures the seconds of a step of every method, in windows of some steps that take turns. Every window is recorded, so that the next start adds to them. The peers' windows
 * are those of all rules of ours. Gives all recorded windows.
 */
export async function measurePace(
  cell: Omit<TtaOnHosts, 'rule'>,
  rules: readonly TtaOnHosts['rule'][],
  options: BenchOptions
): Promise<Pace> {
  const [python] = await pythonsWithTorch()
  const mpi = openMpi()
  const folder = options.out ?? RESULTS
  const { period } = TASKS[cell.model]
  const window = async (rule: TtaOnHosts['rule'], method: Method, isShaped = true) => {
    await using laboratory = await Laboratory.open(cell.hosts, isShaped ? cell.mbit : undefined)
    const steps = method.startsWith('ddp') ? STEPS : PERIODIC_STEPS
    // The only measurement of the accuracy follows the window.
    const task = { ...TASKS[cell.model], target: 1, evaluate: steps, steps, tests: 500 }
    const { seconds } = await new Runs({ ...cell, rule }, mpi, python!, task).run(laboratory, method, task.rates[0]!, 1)
    const name = method === 'arbalest' ? rule : method
    const found = { [name]: [seconds / steps] }
    const part = isShaped ? { seconds: found, computing: {} } : { seconds: {}, computing: found }
    await recordPace(folder, { ...cell, period, ...part, mpi: mpi.name, torch: python!.torch, load: loadavg()[0]! })
    process.stderr.write(
      `${cell.model} ${isShaped ? rateName(cell.mbit) : 'not shaped'} ${name}: ${((1000 * seconds) / steps).toFixed(1)} ms a step\n`
    )
  }
  for (let pair = 0; pair < options.pairs; pair++) {
    for (const rule of rules) {
      await window(rule, 'arbalest', false)
      await window(rule, 'arbalest')
    }
    for (const peer of PEER_NAMES) await window(rules[0]!, peer)
  }
  return (await recordedPace(folder, { ...cell, period }, { rules, peers: PEER_NAMES }))!
}

/** What computing and the links allow beside a peer. */
export function reachableBy(pace: Pace, rule: TtaOnHosts['rule'], peer: PeerName): Reachable {
  const [computing, step, peerStep] = [pace.computing[rule]!, pace.seconds[rule]!, pace.seconds[peer]!].map(median) as [
    number,
    number,
    number
  ]
  return reachable({ ...pace, rule, bytes: TASKS[pace.model].bytes }, { computing, step, peerStep })
}

/** Rows in seconds a step; ratios are those of the peer's seconds by ours. */
export function paceRows(pace: Pace, rules: readonly TtaOnHosts['rule'][]): readonly Result[] {
  const { model, hosts, mbit, period, mpi, torch, load } = pace
  return rules.flatMap((rule) =>
    PEER_NAMES.map((peer): Result => {
      const inverse = comparison(pace.seconds[peer]!, pace.seconds[rule]!)
      return {
        bench: 'hosts',
        case: `pace ${model} h${hosts} ${rateName(mbit)} ${rule}`,
        peer,
        unit: 's a step',
        peerMode: `PyTorch ${torch}`,
        ...inverse,
        value: inverse.peerValue,
        peerValue: inverse.value,
        reachable: reachableBy(pace, rule, peer),
        period,
        mpi,
        load
      }
    })
  )
}
