import type { Exchange } from './exchanges.js'
import { CHUNK_BYTES } from './plan.js'
import type { Racks } from './racks.js'
import { trafficOf, type Traffic } from './traffic.js'

/** What links and processors do, as measured or as described. Rates are of one direction; links move both ways at once. */
export interface LinkCosts {
  /** Bytes a second of a host's link. */
  readonly link: number
  /** Bytes a second of a rack's link to the other racks; Infinity where nothing is slower than the hosts' links. */
  readonly across: number
  /** Bytes a second of the link of a central hub; undefined where there is none. */
  readonly hub?: number | undefined
  /** What a message takes beside its bytes, in seconds. */
  readonly latency: number
  /** Seconds of a host's processor for each byte that it sends or receives. */
  readonly processor: number
  /** Seconds of it for each message that it sends, if those are not in the seconds of its bytes. */
  readonly message?: number
}

/**
 * The model of an exchange, for the choice of a run and for the simulator: seconds in which hosts sum `bytes`. They are those of the link, or the processor, that has the
 * most to do, and of the first chunk, which goes all the way before the last one does.
 */
export function exchangeSeconds(exchange: Exchange, bytes: number, racks: Racks, costs: LinkCosts): number {
  const traffic = trafficOf(exchange, bytes, racks)
  return Math.max(...Object.values(busySeconds(traffic, costs))) + firstChunkSeconds(traffic, bytes, costs)
}

/** Seconds that links and processors are busy with what an exchange puts on them. */
export function busySeconds(
  { host, rack, hub, messages }: Traffic,
  { link, across, hub: hubLink = link, processor, message = 0 }: LinkCosts
): Readonly<Record<'host' | 'rack' | 'hub' | 'processor', number>> {
  return { host: host / link, rack: rack / across, hub: hub / hubLink, processor: 2 * host * processor + messages * message }
}

/** Seconds until the first chunk of `bytes` is everywhere: others follow it meanwhile. */
export function firstChunkSeconds({ hops }: Traffic, bytes: number, { link, across, latency }: LinkCosts): number {
  return hops * (latency + Math.min(CHUNK_BYTES, bytes) / Math.min(link, across))
}
