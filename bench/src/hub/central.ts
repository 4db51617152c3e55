import { loadavg } from 'node:os'
import { allreduces, bestOf, BYTES, TRIAL, type Times, type Way } from '../hosts/exchange.js'
import { Laboratory } from '../hosts/laboratory.js'
import { answerOf, node, onAllHosts, openMpi } from '../hosts/mpi.js'
import type { HubResult } from '../hosts/hub-result.js'
import type { BenchOptions } from '../bench.js'
import { comparison } from '../pairs.js'

/** Hosts that train, the rate of their links in megabits a second, and how many times as fast that of the hub behind them is. */
const HOSTS = 4
const MBIT = 200
const TIMES = 4
/** Words of exchange-child. */
const AT_HUB = ['sharded', '[]', '1']

/** Sums at a hub, beside the same hosts' sums without one and MPI_Allreduce: the bytes of a vector by the seconds of its sum. One row a peer. */
export async function central(options: BenchOptions): Promise<readonly HubResult[]> {
  const mpi = openMpi()
  await using laboratory = await Laboratory.open(HOSTS + 1, MBIT, undefined, TIMES * MBIT)
  const command = node('../hosts/exchange-child.js', [])
  const [hub, sharded] = ['hub', 'sharded'].map((name): Way => ({ name, command, parameters: {}, exact: false })) as [Way, Way]
  const run = async (way: Way, seconds: number): Promise<number> => {
    const turns = Math.max(3, Math.ceil((seconds * MBIT * 1e6) / 8 / BYTES))
    const started = { ...way.command, args: [...way.command.args, String(BYTES), String(turns), ...(way === hub ? AT_HUB : [])] }
    const on = Array.from({ length: way === hub ? HOSTS + 1 : HOSTS }, (_, host) => host)
    const { seconds: all } = await answerOf<Times>(onAllHosts(mpi, laboratory, started, way.parameters, on), seconds)
    return (BYTES * all.length) / all.reduce((sum, one) => sum + one, 0) / 1e6
  }
  const { usual, algorithms } = await allreduces(mpi)
  const { best, shares } = await bestOf((way) => run(way, TRIAL), [usual, ...algorithms])
  const found = new Map<Way, number[]>([hub, sharded, usual, best].map((way) => [way, []]))
  for (let pair = 0; pair < options.pairs; pair++) for (const [way, rates] of found) rates.push(await run(way, options.seconds))
  const row = (peer: string, way: Way, more: object): HubResult => ({
    bench: 'hub',
    case: `hub h${HOSTS} link${TIMES}x`,
    peer,
    unit: 'MB/s',
    ...comparison(found.get(hub)!, found.get(way)!),
    ...more,
    mbit: MBIT,
    bytes: BYTES,
    mpi: mpi.name,
    load: loadavg()[0]!
  })
  return [
    row('sharded', sharded, {}),
    row('allreduce', usual, { peerMode: usual.name }),
    row('allreduce-best', best, { peerMode: best.name, peerModes: shares })
  ]
}
