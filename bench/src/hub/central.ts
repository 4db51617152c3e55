import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { allreduces, bestOf, BYTES, TRIAL, type Times, type Way } from '../hosts/exchange.js'
import { Laboratory } from '../hosts/laboratory.js'
import { answerOf, node, onAllHosts, openMpi, outputOf } from '../hosts/mpi.js'
import type { HubResult } from '../hosts/hub-result.js'
import type { BenchOptions } from '../bench.js'
import { comparison } from '../pairs.js'
import { pythonsWithTorch, tunedEnvironment, type Python } from '../python.js'

/** Hosts that train, the rate of their links in megabits a second, and how many times as fast that of the hub behind them is. */
const HOSTS = 4
const MBIT = 200
const TIMES = 4
/** Words of exchange-child. */
const AT_HUB = ['sharded', '[]', '1']

const GLOO = fileURLToPath(new URL('../../peers/gloo.py', import.meta.url))

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
  const python = await gloo()
  const runGloo = async (seconds: number): Promise<number> => {
    const turns = Math.max(3, Math.ceil((seconds * MBIT * 1e6) / 8 / BYTES))
    const [first, ...others] = Array.from({ length: HOSTS }, (_, rank) => {
      const place = { RANK: String(rank), WORLD_SIZE: String(HOSTS), MASTER_ADDR: laboratory.address(0), MASTER_PORT: '29500' }
      const env = { ...tunedEnvironment(1), ...place, GLOO_SOCKET_IFNAME: 'eth0' }
      return laboratory.onHost(rank, { program: python!.program, args: [GLOO, String(BYTES), String(turns)], env })
    })
    const told = await Promise.all([answerOf<Times>(first!, seconds), ...others.map((other) => outputOf(other, seconds))])
    const { seconds: all } = told[0]
    return (BYTES * all.length) / all.reduce((sum, one) => sum + one, 0) / 1e6
  }
  const { usual, algorithms } = await allreduces(mpi)
  const { best, shares } = await bestOf((way) => run(way, TRIAL), [usual, ...algorithms])
  const found = new Map<Way, number[]>([hub, sharded, usual, best].map((way) => [way, []]))
  const byGloo: number[] = []
  for (let pair = 0; pair < options.pairs; pair++) {
    for (const [way, rates] of found) rates.push(await run(way, options.seconds))
    if (python) byGloo.push(await runGloo(options.seconds))
  }
  const row = (peer: string, rates: readonly number[], more: object): HubResult => ({
    bench: 'hub',
    case: `hub h${HOSTS} link${TIMES}x`,
    peer,
    unit: 'MB/s',
    ...comparison(found.get(hub)!, rates),
    ...more,
    mbit: MBIT,
    bytes: BYTES,
    mpi: mpi.name,
    load: loadavg()[0]!
  })
  return [
    row('sharded', found.get(sharded)!, {}),
    row('allreduce', found.get(usual)!, { peerMode: usual.name }),
    row('allreduce-best', found.get(best)!, { peerMode: best.name, peerModes: shares }),
    ...(python ? [row('gloo', byGloo, { peerMode: `PyTorch ${python.torch}, all_reduce` })] : [])
  ]
}

/** Of a Python with PyTorch; undefined where there is none, with a line that says so. */
async function gloo(): Promise<Python | undefined> {
  try {
    return (await pythonsWithTorch())[0]
  } catch (error) {
    process.stderr.write(`hub: Gloo is left out: ${(error as Error).message}\n`)
    return undefined
  }
}
