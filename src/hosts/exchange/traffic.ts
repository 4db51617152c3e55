import type { Exchange } from './exchanges.js'
import { CHUNK_BYTES } from './plan.js'
import type { Racks } from './racks.js'

/** What the sum of some bytes puts on hosts and links. Hosts and links carry as much in one direction as in the other. */
export interface Traffic {
  /** Bytes in each direction on the busiest link of a host, on that of a rack to the others, and on that of the hub. */
  readonly host: number
  readonly rack: number
  readonly hub: number
  /** Messages that the busiest host sends. */
  readonly messages: number
  /** Messages that follow one another until a chunk is everywhere. */
  readonly hops: number
}

/**
 * The traffic of a sum over the hosts of these racks, which are on links of their own to each other. Bytes of hub, sharded server and racks: Luo et al., Parameter Hub,
 * SoCC 2018, section 3.4; here a sum crosses from rack to rack in the order of ranks, so that the link between two racks has M bytes each way.
 */
export function trafficOf(exchange: Exchange, bytes: number, racks: Racks): Traffic {
  const hosts = racks.reduce((sum, rack) => sum + rack.length, 0)
  switch (exchange) {
    case 'sharded': {
      // Parts go to their owners, and sums come back: all but the own part, twice.
      const crossing = racks.map(({ length }) => (2 * bytes * length * (hosts - length)) / hosts)
      return { ...withinRack(bytes, hosts), rack: Math.max(...crossing), hub: 0, hops: hosts > 1 ? 2 : 0 }
    }
    case 'racks':
      return byRack(bytes, racks)
    case 'ring':
      return aroundRing(bytes, racks)
    case 'hub': {
      const largest = Math.max(...racks.map(({ length }) => length))
      return { host: bytes, rack: largest * bytes, hub: hosts * bytes, messages: chunksOf(bytes), hops: 2 }
    }
  }
}

/** A host of a rack gets a part of each other one's bytes, and sends all of them the sum of its own part. */
function withinRack(bytes: number, hosts: number): Pick<Traffic, 'host' | 'messages'> {
  return { host: (2 * bytes * (hosts - 1)) / hosts, messages: 2 * (hosts - 1) * chunksOf(bytes / hosts) }
}

function byRack(bytes: number, racks: Racks): Traffic {
  const busiest = racks.map(({ length }, i): Pick<Traffic, 'host' | 'messages' | 'rack'> => {
    const neighbours = (i > 0 ? 1 : 0) + (i + 1 < racks.length ? 1 : 0)
    const { host, messages } = withinRack(bytes, length)
    return {
      host: host + (neighbours * bytes) / length,
      messages: messages + neighbours * chunksOf(bytes / length),
      rack: neighbours * bytes
    }
  })
  const most = (of: 'host' | 'messages' | 'rack') => Math.max(...busiest.map((each) => each[of]))
  const within = racks.some(({ length }) => length > 1) ? 1 : 0
  return { host: most('host'), rack: most('rack'), hub: 0, messages: most('messages'), hops: 2 * (racks.length - 1 + within) }
}

function aroundRing(bytes: number, racks: Racks): Traffic {
  const ranks = racks.flat().sort((a, b) => a - b)
  const { rack: _, ...traffic } = byRack(
    bytes,
    ranks.map((rank) => [rank])
  )
  const rackOf = new Map(racks.flatMap((rack, i) => rack.map((rank) => [rank, i] as const)))
  const crossings = racks.map(() => 0)
  for (const [i, rank] of ranks.slice(1).entries()) {
    const [from, to] = [rackOf.get(ranks[i]!)!, rackOf.get(rank)!]
    if (from === to) continue
    crossings[from]!++
    crossings[to]!++
  }
  return { ...traffic, rack: Math.max(...crossings) * bytes }
}

function chunksOf(bytes: number): number {
  return Math.ceil(bytes / CHUNK_BYTES)
}
