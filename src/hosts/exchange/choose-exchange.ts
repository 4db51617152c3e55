import type { LinkFigures } from '../../engine/contract.js'
import { median } from '../../median.js'
import { exchangeSeconds, type LinkCosts } from './cost-model.js'
import { reasonAgainstRacks, type Racks, type RunExchange } from './racks.js'

/** A way to sum that a run could take, and what the model says that a sum takes. */
interface Candidate {
  readonly exchange: RunExchange
  readonly milliseconds: number
}

export interface Choice {
  readonly exchange: RunExchange
  /** The fastest first. */
  readonly candidates: readonly Candidate[]
  /** For people. */
  readonly reason: string
}

/** Another way must be faster than the sharded one by more than the model's usual error. */
const CLEARLY = 1.05

/** The rates of the links that hosts have measured of each other. Every host gets the same from the same figures. */
export function linkCosts({ turns, latency, secondsPerByte }: LinkFigures, racks: Racks): LinkCosts {
  const hosts = latency.length
  const rackOf = new Map(racks.flatMap((rack, i) => rack.map((rank) => [rank, i] as const)))
  const within: number[] = []
  const all: number[] = []
  let across = 0
  for (const { distance, bytesPerSecond } of turns) {
    const crossing = racks.map(() => 0)
    for (const [to, rate] of bytesPerSecond.entries()) {
      const from = (to + hosts - distance) % hosts
      all.push(rate)
      if (rackOf.get(from) === rackOf.get(to)) within.push(rate)
      else crossing[rackOf.get(from)!]! += rate
    }
    const crossed = crossing.filter((rate) => rate > 0)
    if (crossed.length > 0) across = Math.max(across, median(crossed))
  }
  return {
    // A host alone in its rack, as all may be, sends nothing within it.
    link: within.length > 0 ? median(within) : Math.max(...all),
    across: racks.length > 1 ? across : Infinity,
    latency: median(latency),
    processor: median(secondsPerByte)
  }
}

/** The fastest way to sum `bytes`. `racks` may be in any order: those whose ranks do not follow one another are no candidates for sums by rack. */
export function chooseExchange(bytes: number, racks: Racks, costs: LinkCosts): Choice {
  const against = reasonAgainstRacks(racks)
  const exchanges: readonly RunExchange[] = against === undefined ? ['sharded', 'racks', 'ring'] : ['sharded', 'ring']
  const candidates = exchanges
    .map((exchange): Candidate => ({ exchange, milliseconds: 1000 * exchangeSeconds(exchange, bytes, racks, costs) }))
    .sort((a, b) => a.milliseconds - b.milliseconds)
  const best = candidates[0]!
  const sharded = candidates.find(({ exchange }) => exchange === 'sharded')!
  const chosen = sharded.milliseconds > CLEARLY * best.milliseconds ? best : sharded
  const links = `links of ${megabits(costs.link)}${racks.length > 1 ? `, between racks ${megabits(costs.across)}` : ''}`
  const others = candidates.filter((each) => each !== chosen).map(told)
  const left = racks.length > 1 && against !== undefined ? `; no racks: ${against}` : ''
  return { exchange: chosen.exchange, candidates, reason: `${links}: ${told(chosen)} a sum, ${others.join(', ')}${left}` }
}

function told({ exchange, milliseconds }: Candidate): string {
  return `${exchange} ${milliseconds.toPrecision(3)} ms`
}

function megabits(bytesPerSecond: number): string {
  return `${((8 * bytesPerSecond) / 1e6).toPrecision(3)} Mbit/s`
}
