import { CHUNK_BYTES } from './plan.js'
import type { Racks } from './racks.js'

/** What links and processors do, as measured or as described. Rates are of one direction; links move both ways at once. */
export interface LinkCosts {
  /** Bytes a second of a host's link. */
  readonly link: number
  /** Bytes a second of a rack's link to the other racks; Infinity where nothing is slower than the hosts' links. */
  readonly across: number
  /** Bytes a second of the link of a central hub; undefined where there is none. */
  readonly hub?: number
  /** What a message takes beside its bytes, in seconds. */
  readonly latency: number
  /** Seconds of a host's processor for each byte that it sends or receives. */
  readonly processor: number
}

/** The ways to sum that the model compares. */
export type CostedExchange = 'sharded' | 'racks' | 'ring' | 'hub'

/** The hub's rank in the traffic of an exchange: it is none of the hosts. */
const HUB = -1

type Send = (from: number, to: number, bytes: number) => void

/** What an exchange sends, and how many messages follow one another until the first chunk is everywhere. */
interface Traffic {
  readonly sends: (send: Send) => void
  readonly hops: number
}

/**
 * Seconds in which hosts sum `bytes`: those of the link, or the processor, that has the most to do, and of the first chunk, which goes all the way before the
 * last one does. Bytes of hub, sharded server and racks: Luo et al., Parameter Hub, SoCC 2018, section 3.4; here a sum crosses from rack to rack in the order of
 * ranks, so that the link between two racks has M bytes each way.
 */
export function exchangeSeconds(exchange: CostedExchange, bytes: number, racks: Racks, costs: LinkCosts): number {
  const { sends, hops } = trafficOf(exchange, bytes, racks)
  const rackOf = new Map(racks.flatMap((rack, i) => rack.map((rank) => [rank, i] as const)))
  const [out, into, rackOut, rackInto] = [new Load(), new Load(), new Load(), new Load()]
  sends((from, to, moved) => {
    out.add(from, moved)
    into.add(to, moved)
    if (rackOf.get(from) === rackOf.get(to)) return
    if (from !== HUB) rackOut.add(rackOf.get(from)!, moved)
    if (to !== HUB) rackInto.add(rackOf.get(to)!, moved)
  })
  const ranks = [...rackOf.keys()]
  const busiest = Math.max(...ranks.map((rank) => out.of(rank) + into.of(rank)))
  const longest = Math.max(
    Math.max(out.most(ranks), into.most(ranks)) / costs.link,
    Math.max(rackOut.most(), rackInto.most()) / costs.across,
    exchange === 'hub' ? Math.max(out.of(HUB), into.of(HUB)) / (costs.hub ?? costs.link) : 0,
    busiest * costs.processor
  )
  const chunk = Math.min(CHUNK_BYTES, bytes) / Math.min(costs.link, costs.across)
  return longest + hops * (costs.latency + chunk)
}

function trafficOf(exchange: CostedExchange, bytes: number, racks: Racks): Traffic {
  const ranks = racks.flat().sort((a, b) => a - b)
  switch (exchange) {
    case 'sharded':
      return byRack([ranks], bytes)
    case 'racks':
      return byRack(racks, bytes)
    case 'ring':
      return byRack(
        ranks.map((rank) => [rank]),
        bytes
      )
    case 'hub':
      return { sends: (send) => ranks.forEach((rank) => (send(rank, HUB, bytes), send(HUB, rank, bytes))), hops: 2 }
  }
}

/** Parts go to the owners of their rack, sums from each rack to the next, and all of it comes back. */
function byRack(racks: Racks, bytes: number): Traffic {
  const both = (send: Send, a: number, b: number, moved: number): void => {
    send(a, b, moved)
    send(b, a, moved)
  }
  return {
    sends(send) {
      for (const [i, rack] of racks.entries()) {
        for (const owner of rack) for (const host of rack) if (host !== owner) both(send, host, owner, bytes / rack.length)
        const next = racks[i + 1] ?? []
        for (const owner of rack) for (const other of next) both(send, owner, other, bytes / (rack.length * next.length))
      }
    },
    hops: 2 * (racks.length - 1 + (racks.some((rack) => rack.length > 1) ? 1 : 0))
  }
}

/** Bytes by rank, or by rack. */
class Load {
  readonly #bytes = new Map<number, number>()

  add(at: number, bytes: number): void {
    this.#bytes.set(at, this.of(at) + bytes)
  }

  of(at: number): number {
    return this.#bytes.get(at) ?? 0
  }

  most(among: Iterable<number> = this.#bytes.keys()): number {
    return Math.max(0, ...[...among].map((at) => this.of(at)))
  }
}
