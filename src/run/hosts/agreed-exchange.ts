import type { Engine, LinkFigures } from '../../engine/contract.js'
import { chooseExchange, linkCosts, type Choice } from '../../hosts/exchange/choose-exchange.js'
import type { RunExchange } from '../../hosts/exchange/racks.js'
import type { ExchangeEvent } from '../../observe/events.js'
import type { Settings } from '../../options/settings.js'
import { poll } from '../../poll.js'
import type { Hosts } from './meeting.js'

const NOT_REPRODUCIBLE = 'parts are added as they arrive, so the weights of this run cannot be reproduced bit for bit'

/** How the hosts of a run sum: the same on all of them. */
export interface AgreedExchange {
  readonly exchange: RunExchange
  readonly event: ExchangeEvent
}

/**
 * How these hosts sum `bytes` of parameters. With `exchange: 'auto'` they measure the links between them, and every host chooses the same from the same figures.
 * Rejects when the run ends meanwhile.
 */
export async function agreedExchange(
  engine: Pick<Engine, 'measureLinks' | 'linkFigures' | 'capabilities' | 'release'>,
  hosts: Hosts,
  { devices, backend }: Pick<Settings, 'devices' | 'backend'>,
  bytes: number
): Promise<AgreedExchange> {
  const { host } = hosts
  const order = devices.order === 'arrival' ? `; ${NOT_REPRODUCIBLE}` : ''
  if (host.hubs.length > 0) return byHubs(host.hubs.length, order)
  const { exchange = 'sharded', racks = [[...host.capacities.keys()]] } = devices
  if (exchange !== 'auto') return agreed({ exchange, candidates: [], reason: `as given${order}` })
  // A run that begins again, with lower rates, goes on as before.
  if (host.exchange) return agreed(host.exchange)
  const reason = reasonToShard(engine, hosts, backend)
  if (reason !== undefined) return agreed({ exchange: 'sharded', candidates: [], reason })
  const figures = await Promise.race([measured(engine, hosts), 'leader' in hosts ? hosts.leader.failed : hosts.follower.over])
  host.exchange = chooseExchange(bytes, racks, linkCosts(figures, racks))
  return agreed(host.exchange)
}

/** Why there is nothing to choose; undefined if there is. */
function reasonToShard(engine: Pick<Engine, 'capabilities'>, { host }: Hosts, backend: Settings['backend']): string | undefined {
  if (engine.capabilities(backend).memory === 'device') return 'NCCL sums for the GPUs of all hosts, in its own way'
  if (backend === 'reference') return 'backend reference sums in 64 bits, and a sum that is sent on has 32'
  return host.size < host.capacities.length ? 'a host is lost' : undefined
}

/** It is given up where the run ends meanwhile. */
async function measured(engine: Pick<Engine, 'measureLinks' | 'linkFigures' | 'release'>, { host }: Hosts): Promise<LinkFigures> {
  const measurement = engine.measureLinks(host.handle)
  try {
    return await poll(() => engine.linkFigures(measurement), 5)
  } finally {
    engine.release(measurement)
  }
}

function agreed({ exchange, candidates, reason }: Choice): AgreedExchange {
  return { exchange, event: { event: 'exchange', mode: exchange, predicted: candidates, reason } }
}

/** Each hub owns its part of the sums, as hosts do where none is a hub. */
function byHubs(hubs: number, order: string): AgreedExchange {
  const reason = `${hubs === 1 ? 'a process is their hub' : `${hubs} processes are their hubs`}${order}`
  return { exchange: 'sharded', event: { event: 'exchange', mode: 'hub', predicted: [], reason } }
}
