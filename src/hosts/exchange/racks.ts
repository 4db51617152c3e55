import { invalidOption } from '../../errors.js'
import type { Exchange } from './exchanges.js'

/** Ranks by rack. */
export type Racks = readonly (readonly number[])[]

/** How the hosts of a run sum (exchanges.ts says what each of these is); at a hub, where there is one, by `sharded`. All of them sum in the order of ranks, so the bits are the same. */
export type RunExchange = Exclude<Exchange, 'hub'>

/** Throws INVALID_OPTION for racks in which a host of the run is missing, or is twice, and for those that the exchange cannot sum over. */
export function checkRacks(racks: Racks, size: number, exchange?: string): void {
  const ranks = racks.flat().sort((a, b) => a - b)
  if (ranks.length !== size || !ranks.every((rank, i) => rank === i))
    throw invalidOption('racks', shownRacks(racks), `name each of the ${size} hosts once, by their ranks from 0 to ${size - 1}`)
  const reason = exchange === 'racks' ? reasonAgainstRacks(racks) : undefined
  if (reason !== undefined) throw invalidOption('racks', shownRacks(racks), `use exchange sharded, or other racks: ${reason}`)
}

/** Why the hosts cannot sum rack by rack; undefined if they can. Only then is the sum by rack that in the order of ranks. */
export function reasonAgainstRacks(racks: Racks): string | undefined {
  if (racks.length < 2) return 'it needs two racks or more, as in 0,1;2,3'
  if (racks.flat().every((rank, i) => rank === i)) return undefined
  return 'sums are made in the order of ranks, so each rack needs ranks that follow one another: list the hosts rack by rack for the launcher'
}

/**
 * The racks over which an exchange sums. A host without capacity owns nothing, so it cannot be a rack of its own: it belongs to one beside it.
 */
export function summingRacks(exchange: RunExchange, racks: Racks, capacities: readonly number[]): Racks {
  const ranks = capacities.map((_, rank) => rank)
  if (exchange === 'sharded') return [ranks]
  const summing: number[][] = []
  for (const rack of exchange === 'ring' ? ranks.map((rank) => [rank]) : racks) {
    const last = summing.at(-1)
    if (last && !hasOwner(last, capacities)) last.push(...rack)
    else summing.push([...rack])
  }
  const [before, last] = summing.slice(-2)
  if (before && last && !hasOwner(last, capacities)) before.push(...summing.pop()!)
  return summing
}

/** 0,1;2,3 */
function shownRacks(racks: Racks): string {
  return racks.map((rack) => rack.join(',')).join(';')
}

function hasOwner(rack: readonly number[], capacities: readonly number[]): boolean {
  return rack.some((rank) => capacities[rank]! > 0)
}
