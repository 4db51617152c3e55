import { invalidOption, unknownName } from '../errors.js'

export const CASES = ['ask-round-trip', 'ask-pipelined', 'tell', 'spawn', 'idle'] as const
export type CaseName = (typeof CASES)[number]

export const PEERS = ['postMessage', 'comlink', 'threads', 'nact'] as const
export type PeerName = (typeof PEERS)[number]

/** One comparison: a measurement and a peer. */
export interface ActorCase {
  readonly name: CaseName
  readonly peer: PeerName
  /** The thread of our actor is that of the peer's: nact has its actors in the caller's thread. */
  readonly place: 'worker' | 'here'
}

/** Impossible cases: comlink and threads have no message without an answer; actors in the caller's thread are idle when that is. */
const IMPOSSIBLE: ReadonlySet<string> = new Set(['tell comlink', 'tell threads', 'idle comlink', 'idle threads', 'idle nact'])

/** The comparisons that match the filters: one of the named cases, if any, and one of the named peers, if any. Throws UNKNOWN_NAME, and INVALID_OPTION if there is none. */
export function chosenActorCases(filters: readonly string[]): readonly ActorCase[] {
  const words = filters.flatMap((filter) => filter.split(/\s+/)).filter((word) => word !== '')
  const unknown = words.find((word) => ![...CASES, ...PEERS].some((known) => known === word))
  if (unknown !== undefined) throw unknownName('filter', unknown, [...CASES, ...PEERS])
  const chosen = <T extends string>(all: readonly T[]): readonly T[] => {
    const some = all.filter((one) => words.includes(one))
    return some.length > 0 ? some : all
  }
  const cases = chosen(CASES).flatMap((name) =>
    chosen(PEERS)
      .filter((peer) => !IMPOSSIBLE.has(`${name} ${peer}`))
      .map((peer) => ({ name, peer, place: peer === 'nact' ? ('here' as const) : ('worker' as const) }))
  )
  if (cases.length === 0) throw invalidOption('filter', words.join(' '), `only ${possiblePeers(chosen(CASES))} can do that`)
  return cases
}

/** The peers that have one of the cases. */
function possiblePeers(cases: readonly CaseName[]): string {
  return PEERS.filter((peer) => cases.some((name) => !IMPOSSIBLE.has(`${name} ${peer}`))).join(', ')
}
