import type { Case } from '../cases.js'
import { Attempts } from '../attempts.js'
import { ArbalestError, invalidOption, unknownName } from '../errors.js'
import { Side } from '../side.js'
import { jaxWays } from './jax.js'
import { pytorchWays } from './pytorch.js'
import { tfjsWays } from './tfjs.js'
import { PEERS, type PeerName, type Way } from './way.js'

export interface Fastest {
  readonly side: Side
  readonly peer: PeerName
  /** The peer's version and the fastest way. */
  readonly name: string
  /** Work per second of every way, in the short windows that chose the fastest one; null for one that failed. */
  readonly rates: Readonly<Record<string, number | null>>
}

const WAYS: Readonly<Record<PeerName, (one: Case) => Promise<readonly Way[]>>> = { pytorch: pytorchWays, jax: jaxWays, tfjs: tfjsWays }

/** The peers that `--peers` names. Throws UNKNOWN_NAME. */
export function chosenPeers(names = 'pytorch'): readonly PeerName[] {
  if (names === 'all') return PEERS
  return names.split(',').map((name) => {
    const known = PEERS.find((peer) => peer === name)
    if (known === undefined) throw unknownName('--peers', name, [...PEERS, 'all'])
    return known
  })
}

/** Milliseconds that a way may take to compile. */
const COMPILES = 600_000
/** Ways that are measured a second time, in turns: a disturbance must not decide. */
const FINALISTS = 3

/** The ways of the peers that have `only` in their names. Throws INVALID_OPTION if there are none, and BACKEND_UNAVAILABLE for a peer that is not installed. */
export async function waysOf(one: Case, peers: readonly PeerName[], only = ''): Promise<readonly Way[]> {
  const found: Way[] = []
  for (const peer of peers) found.push(...(await WAYS[peer](one)))
  if (found.length === 0)
    throw invalidOption('--peers', peers.join(','), `none of them trains ${one.name}: use another of ${PEERS.join(', ')}, or another case`)
  const ways = found.filter(({ name }) => name.includes(only))
  if (ways.length === 0)
    throw invalidOption('--ways', only, `use a part of a name, such as one of ${found.map(({ name }) => `'${name}'`).join(', ')}`)
  return ways
}

/**
 * The fastest of some ways, warm and stopped. Each is measured in a short window; the three fastest are measured again in turns. A way that fails is named on
 * stderr. Throws BACKEND_UNAVAILABLE if all fail.
 */
export async function fastestOf(one: Case, ways: readonly Way[], seconds: number): Promise<Fastest> {
  const rates: Record<string, number | null> = {}
  let finalists: { readonly way: Way; readonly side: Side; rate: number }[] = []
  const attempts = new Attempts()
  for (const way of ways) {
    const side = await attempts.of(way.name, () => Side.start(way.commands, COMPILES))
    const rate = side === undefined ? undefined : await attempts.of(way.name, () => side.run(seconds / 2))
    rates[way.name] = rate ?? null
    if (side === undefined || rate === undefined) {
      side?.close()
      process.stderr.write(`${one.name}: ${way.name}: ${attempts.failures[way.name]}\n`)
      continue
    }
    finalists.push({ way, side, rate })
    finalists.sort((a, b) => b.rate - a.rate)
    for (const slow of finalists.slice(FINALISTS)) slow.side.close()
    finalists = finalists.slice(0, FINALISTS)
  }
  for (let pass = 0; pass < 2; pass++) for (const each of finalists) each.rate = Math.max(each.rate, await each.side.run(seconds / 2))
  finalists.sort((a, b) => b.rate - a.rate)
  const [best, ...others] = finalists
  if (best === undefined)
    throw new ArbalestError(
      'BACKEND_UNAVAILABLE',
      `peers: received ${[...new Set(ways.map(({ peer }) => peer))].join(', ')}, of which no way runs; see stderr`
    )
  for (const each of finalists) rates[each.way.name] = each.rate
  for (const other of others) other.side.close()
  return { side: best.side, peer: best.way.peer, name: best.way.name, rates }
}
