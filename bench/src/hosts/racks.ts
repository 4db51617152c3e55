import { loadavg } from 'node:os'
import { comparison } from '../pairs.js'
import type { BenchOptions } from '../bench.js'
import { Laboratory } from './laboratory.js'
import { answerOf, node, onAllHosts, openMpi } from './mpi.js'
import type { HubResult } from './hub-result.js'

/** Of each host, in megabits a second, and of a rack to the other: a quarter. */
const MBIT = 200
const ACROSS = MBIT / 4
const HOSTS = 4
const RACKS = [
  [0, 1],
  [2, 3]
]
/** As the launcher of a cluster may deal ranks out: each rack has every other one. */
const INTERLEAVED = [0, 2, 1, 3]
/** A vector of LeNet's length. */
const BYTES = 1_724_320

/** Sums by rack beside those of the sharded exchange, which knows of no racks, where racks have a slow link between them. */
export async function racks(options: BenchOptions): Promise<readonly HubResult[]> {
  const mpi = openMpi()
  await using laboratory = await Laboratory.open(HOSTS, MBIT, { perRack: 2, acrossMbit: ACROSS })
  const rate = async (exchange: string, bytesAcross: number, order: readonly number[]): Promise<number> => {
    const bound = bytesAcross / ((ACROSS * 1e6) / 8)
    const turns = Math.max(3, Math.ceil(options.seconds / bound))
    const command = node('exchange-child.js', [BYTES, turns, exchange, JSON.stringify(exchange === 'racks' ? RACKS : [])])
    const { seconds } = await answerOf<{ seconds: readonly number[] }>(onAllHosts(mpi, laboratory, command, {}, order), options.seconds)
    return (BYTES * seconds.length) / seconds.reduce((sum, one) => sum + one, 0) / 1e6
  }
  const [ours, flat]: [number[], number[]] = [[], []]
  for (let pair = 0; pair < options.pairs; pair++) {
    ours.push(await rate('racks', BYTES, [0, 1, 2, 3]))
    flat.push(await rate('sharded', 2 * BYTES, INTERLEAVED))
  }
  /** The link between the racks has each byte once each way. */
  const bound = (ACROSS * 1e6) / 8 / 1e6
  const row = (peer: string, peerRates: readonly number[], more: object): HubResult => ({
    bench: 'hub',
    case: 'racks 2x2 cross1/4',
    peer,
    unit: 'MB/s',
    ...comparison(ours, peerRates),
    ...more,
    bytes: BYTES,
    mbit: MBIT,
    mpi: mpi.name,
    load: loadavg()[0]!
  })
  return [
    row('flat', flat, { peerMode: 'sharded, ranks interleaved' }),
    row(
      'bound',
      ours.map(() => bound),
      {}
    )
  ]
}
