import { unknownName } from '../errors.js'

export const CASES = ['ask-round-trip', 'ask-pipelined', 'tell', 'spawn', 'idle'] as const
export type CaseName = (typeof CASES)[number]

export const PEERS = ['postMessage', 'comlink', 'threads', 'nact'] as const
export type PeerName = (typeof PEERS)[number]

/** One comparison: what is measured, and with whom. */
export interface ActorCase {
  readonly name: CaseName
  readonly peer: PeerName
  /** Ours is measured where the peer's actors live: nact has them in the caller's thread. */
  readonly place: 'worker' | 'here'
}

/** comlink and threads know no message without an answer; actors in the caller's thread are idle with it. */
const LEFT_OUT: ReadonlySet<string> = new Set(['tell comlink', 'tell threads', 'idle comlink', 'idle threads', 'idle nact'])

/** The comparisons that the filters leave: words of one kind add up, words of different kinds narrow. Throws UNKNOWN_NAME. */
export function chosenActorCases(filters: readonly string[]): readonly ActorCase[] {
  const words = filters.flatMap((filter) => filter.split(/\s+/)).filter((word) => word !== '')
  const stranger = words.find((word) => ![...CASES, ...PEERS].some((known) => known === word))
  if (stranger !== undefined) throw unknownName('filter', stranger, [...CASES, ...PEERS])
  const chosen = <T extends string>(all: readonly T[]): readonly T[] => {
    const some = all.filter((one) => words.includes(one))
    return some.length > 0 ? some : all
  }
  return chosen(CASES).flatMap((name) =>
    chosen(PEERS)
      .filter((peer) => !LEFT_OUT.has(`${name} ${peer}`))
      .map((peer) => ({ name, peer, place: peer === 'nact' ? ('here' as const) : ('worker' as const) }))
  )
}
