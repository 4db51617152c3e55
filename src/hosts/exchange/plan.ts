import type { ExchangeChunk } from '../../engine/contract.js'
import type { Racks } from './racks.js'

/** Elements of the parameter vector from `begin` to before `end`. */
export interface ElementRange {
  readonly begin: number
  readonly end: number
}

/** Bytes that a host sums at a time: they fit into a core's cache, and MPI sends a message of so many bytes at once. */
export const CHUNK_BYTES = 32 * 2 ** 10

/** Vector instructions work on whole lines of a cache. */
const LINE_BYTES = 64

/** What is cut, and for whom. */
export interface PlanOptions {
  readonly elementBytes: number
  readonly chunkBytes?: number
  /** All ranks by rack; one rack if omitted. Each has a host with a capacity. */
  readonly racks?: Racks
}

/**
 * Cuts the buckets into chunks of at most `chunkBytes`, and chooses a host in each rack for each: the largest first, to the host with the least load. Every host of a run makes
 * the same plan. `capacities` are by rank and say how much a host takes beside the others of its rack, such as the rates of their links; one with 0 takes nothing.
 *
 * Luo et al., Parameter Hub: a rack-scale parameter server for distributed deep neural network training, SoCC 2018, section 3.2.4.
 */
export function planExchange(
  buckets: readonly ElementRange[],
  capacities: readonly number[],
  { elementBytes, chunkBytes = CHUNK_BYTES, racks = [capacities.map((_, rank) => rank)] }: PlanOptions
): readonly ExchangeChunk[] {
  const loads = capacities.map(() => 0)
  const hostsOf = racks.map((rack) => rack.filter((rank) => capacities[rank]! > 0))
  const owners = Math.max(...hostsOf.map((rack) => rack.length))
  return buckets.flatMap((bucket) => {
    const chunks = cut(bucket, owners, { line: LINE_BYTES / elementBytes, most: chunkBytes / elementBytes })
    const ownersOf = new Map<ElementRange, number[]>()
    for (const chunk of chunks.toSorted((a, b) => lengthOf(b) - lengthOf(a))) {
      const found = hostsOf.map((rack) => leastLoaded(rack, loads, { capacities, more: lengthOf(chunk) }))
      for (const host of found) loads[host]! += lengthOf(chunk)
      ownersOf.set(chunk, found)
    }
    return chunks.map((chunk) => {
      const all = ownersOf.get(chunk)!
      const relays = all.slice(0, -1)
      return { ...chunk, host: all.at(-1)!, ...(relays.length > 0 && { relays }) }
    })
  })
}

/** As even as whole lines allow, a multiple of `owners` where there are lines enough: equal hosts then have as many chunks each. */
function cut(
  { begin, end }: ElementRange,
  owners: number,
  { line, most }: { readonly line: number; readonly most: number }
): readonly ElementRange[] {
  const lines = Math.ceil((end - begin) / line)
  const count = Math.min(lines, owners * Math.ceil((end - begin) / (owners * most)))
  const bound = (i: number): number => Math.min(end, begin + Math.floor((lines * i) / count) * line)
  return Array.from({ length: count }, (_, i) => ({ begin: bound(i), end: bound(i + 1) }))
}

/** The first one of those that would have the least load of their capacity with so many elements more. */
function leastLoaded(
  hosts: readonly number[],
  loads: readonly number[],
  { capacities, more }: { readonly capacities: readonly number[]; readonly more: number }
): number {
  const loadWith = (host: number): number => (loads[host]! + more) / capacities[host]!
  return hosts.reduce((best, host) => (loadWith(host) < loadWith(best) ? host : best))
}

function lengthOf({ begin, end }: ElementRange): number {
  return end - begin
}
