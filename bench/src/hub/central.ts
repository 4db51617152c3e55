import { loadavg } from 'node:os'
import type { BenchOptions } from '../bench.js'
import { allreduces, bestOf, BYTES, TRIAL, type Times, type Way } from '../hosts/exchange.js'
import type { HubResult } from '../hosts/hub-result.js'
import { Laboratory } from '../hosts/laboratory.js'
import { answerOf, node, onAllHosts, openMpi } from '../hosts/mpi.js'
import { comparison } from '../pairs.js'
import { glooSums, pythonWithTorch } from './gloo.js'
import { kvstore, kvstoreSums } from './kvstore.js'

/** Hosts that train, the rate of their links in megabits a second, and how many times as fast that of the hub behind them is. */
export const HOSTS = 4
export const MBIT = 200
export const TIMES = 4
/** Words of exchange-child. */
const AT_HUB = ['sharded', '[]', '1']

/** One way to sum a vector. It gives the seconds that each of `turns` sums took. */
type Sums = (turns: number, seconds: number) => Promise<readonly number[]>

interface Peer {
  readonly peer: string
  readonly sums: Sums
  readonly more?: object
}

/** Sums at a hub, beside the same hosts' sums without one and those of other libraries: the bytes of a vector by the seconds of its sum. One row a peer. */
export async function central(options: BenchOptions): Promise<readonly HubResult[]> {
  const mpi = openMpi()
  await using laboratory = await Laboratory.open(HOSTS + 1, MBIT, undefined, TIMES * MBIT)
  const byMpi =
    ({ command, parameters }: Way, atHub = false): Sums =>
    async (turns, seconds) => {
      const started = { ...command, args: [...command.args, String(BYTES), String(turns), ...(atHub ? AT_HUB : [])] }
      const on = Array.from({ length: atHub ? HOSTS + 1 : HOSTS }, (_, host) => host)
      return (await answerOf<Times>(onAllHosts(mpi, laboratory, started, parameters, on), seconds)).seconds
    }
  const rate = async (sums: Sums, seconds: number): Promise<number> => {
    const turns = Math.max(3, Math.ceil((seconds * MBIT * 1e6) / 8 / BYTES))
    const all = await sums(turns, seconds)
    return (BYTES * all.length) / all.reduce((sum, one) => sum + one, 0) / 1e6
  }
  const ours: Way = { name: 'arbalest', command: node('../hosts/exchange-child.js', []), parameters: {}, exact: false }
  const { usual, algorithms } = await allreduces(mpi)
  const { best, shares } = await bestOf((way) => rate(byMpi(way), TRIAL), [usual, ...algorithms])
  const peers: Peer[] = [
    { peer: 'sharded', sums: byMpi(ours) },
    { peer: 'allreduce', sums: byMpi(usual), more: { peerMode: usual.name } },
    { peer: 'allreduce-best', sums: byMpi(best), more: { peerMode: best.name, peerModes: shares } }
  ]
  const python = await pythonWithTorch()
  if (python)
    peers.push({
      peer: 'gloo',
      sums: (turns, seconds) => glooSums(python, laboratory, { hosts: HOSTS, bytes: BYTES, turns, seconds }),
      more: { peerMode: `PyTorch ${python.torch}, all_reduce` }
    })
  const store = await kvstore()
  if (store)
    peers.push({
      peer: 'mxnet',
      sums: (turns, seconds) => kvstoreSums(store, laboratory, { hosts: HOSTS, bytes: BYTES, turns, seconds }),
      more: { peerMode: `MXNet ${store.mxnet}, kvstore dist_sync, one server at the hub` }
    })
  const atHub: number[] = []
  const found = peers.map((): number[] => [])
  for (let pair = 0; pair < options.pairs; pair++) {
    atHub.push(await rate(byMpi(ours, true), options.seconds))
    for (const [i, { sums }] of peers.entries()) found[i]!.push(await rate(sums, options.seconds))
  }
  return peers.map(({ peer, more }, i) => ({
    bench: 'hub',
    case: `hub h${HOSTS} link${TIMES}x`,
    peer,
    unit: 'MB/s',
    ...comparison(atHub, found[i]!),
    ...more,
    mbit: MBIT,
    bytes: BYTES,
    mpi: mpi.name,
    load: loadavg()[0]!
  }))
}
