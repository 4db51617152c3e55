import type { LinkCosts } from './cost-model.js'
import type { Exchange } from './exchanges.js'
import type { Racks } from './racks.js'
import { trafficOf, type Traffic } from './traffic.js'

/** Equal hosts in equal racks, the last one aside. */
export interface Cluster {
  readonly hosts: number
  /** Of each host; 0 where the processor computes. */
  readonly gpus: number
  readonly hostsOfRack: number
  /** Of hosts, of the racks' links to each other, and of a central hub if there is one. */
  readonly costs: LinkCosts
  /** Bytes a second of a GPU's links to the others of its host. */
  readonly gpuLink: number
}

/**
 * The exchanges of a run on hosts whose ranks are dealt out rack by rack, where its ring is `rack-ring`. `ring` is one whose ranks are dealt out to the racks in turns, as
 * by a launcher that knows of no racks.
 */
export type ExchangeMode = Exchange | 'rack-ring'

/** The modes that such a cluster can have. */
export function modesOf({ hosts, hostsOfRack, costs }: Cluster): readonly ExchangeMode[] {
  if (hosts === 1) return ['sharded']
  const racks = hosts > hostsOfRack && hostsOfRack > 1 ? (['rack-ring', 'racks'] as const) : []
  return ['sharded', 'ring', ...racks, ...(costs.hub === undefined ? [] : (['hub'] as const))]
}

/** The exchange of a run that a mode is, and the ranks of its racks. */
export function exchangeOf(mode: ExchangeMode, { hosts, hostsOfRack }: Cluster): { readonly exchange: Exchange; readonly racks: Racks } {
  const count = Math.ceil(hosts / hostsOfRack)
  const racks: number[][] = Array.from({ length: count }, () => [])
  for (let rank = 0; rank < hosts; rank++) racks[mode === 'ring' ? rank % count : Math.floor(rank / hostsOfRack)]!.push(rank)
  return { exchange: mode === 'rack-ring' ? 'ring' : mode, racks }
}

/** The traffic of all modes of a cluster: that of many hosts takes a while to count, and many buckets have as many bytes. */
export class ClusterTraffic {
  readonly #cluster: Cluster
  readonly #modes = new Map<ExchangeMode, ReturnType<typeof exchangeOf> & { readonly counted: Map<number, Traffic> }>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  of(mode: ExchangeMode, bytes: number): Traffic {
    const { exchange, racks, counted } = this.#modes.get(mode) ?? {
      ...exchangeOf(mode, this.#cluster),
      counted: new Map<number, Traffic>()
    }
    this.#modes.set(mode, { exchange, racks, counted })
    const traffic = counted.get(bytes) ?? trafficOf(exchange, bytes, racks)
    counted.set(bytes, traffic)
    return traffic
  }
}
