import type { ExchangeChunk } from '../../engine/contract.js'

/** Elements of the parameter vector from `begin` to before `end`. */
export interface ElementRange {
  readonly begin: number
  readonly end: number
}

/** Bytes that a host sums at a time: they fit into a core's cache, and MPI sends a message of so many bytes at once. */
export const CHUNK_BYTES = 32 * 2 ** 10

/** Vector instructions work on whole lines of a cache. */
const LINE_BYTES = 64

/**
 * Cuts the buckets into chunks of at most `chunkBytes`, and chooses a host for each: the largest first, to the host with the least load. Every host of a run makes
 * the same plan. `capacities` are by rank and say how much a host takes beside the others, such as the rates of their links; one with 0 takes nothing.
 *
 * Luo et al., Parameter Hub: a rack-scale parameter server for distributed deep neural network training, SoCC 2018, section 3.2.4.
 */
export function planExchange(
  buckets: readonly ElementRange[],
  capacities: readonly number[],
  { elementBytes, chunkBytes = CHUNK_BYTES }: { readonly elementBytes: number; readonly chunkBytes?: number }
): readonly ExchangeChunk[] {
  const loads = capacities.map(() => 0)
  const owners = capacities.filter((capacity) => capacity > 0).length
  return buckets.flatMap((bucket) => {
    const chunks = cut(bucket, owners, { line: LINE_BYTES / elementBytes, most: chunkBytes / elementBytes })
    const hosts = new Map<ElementRange, number>()
    for (const chunk of chunks.toSorted((a, b) => lengthOf(b) - lengthOf(a))) {
      const host = leastLoaded(loads, capacities, lengthOf(chunk))
      loads[host]! += lengthOf(chunk)
      hosts.set(chunk, host)
    }
    return chunks.map((chunk) => ({ ...chunk, host: hosts.get(chunk)! }))
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
function leastLoaded(loads: readonly number[], capacities: readonly number[], more: number): number {
  const loadWith = (host: number): number => (capacities[host]! > 0 ? (loads[host]! + more) / capacities[host]! : Infinity)
  return loads.reduce((best, _, host) => (loadWith(host) < loadWith(best) ? host : best), 0)
}

function lengthOf({ begin, end }: ElementRange): number {
  return end - begin
}
