import type { Cluster, ClusterResources } from './cluster.js'
import type { Flow, Resource } from './fluid-network.js'

/**
 * How hosts sum what they have, so that all of them get the sum.
 *
 * - `sharded`: each host owns a part, sums what all send of it, and sends the sum to all.
 * - `ring`: parts go from host to host around a ring, in an order that does not know of racks; `rack-ring`: in one that goes through each rack once.
 * - `racks`: parts are summed within each rack, the sums across the racks, and the results go to all of a rack.
 * - `hub`: a host of its own, without learners, sums all.
 */
export const EXCHANGE_MODES = ['sharded', 'ring', 'rack-ring', 'racks', 'hub'] as const

export type ExchangeMode = (typeof EXCHANGE_MODES)[number]

/** Bytes that move at the same time, and the seconds that their messages take besides. A stage begins when the one before it has ended. */
export interface Stage {
  readonly flows: readonly Flow[]
  readonly latency: number
}

/** The modes that such a cluster can have. */
export function modesOf({ hosts, hostsOfRack, hub }: Cluster): readonly ExchangeMode[] {
  if (hosts === 1) return ['sharded']
  const racks = hosts > hostsOfRack && hostsOfRack > 1 ? (['rack-ring', 'racks'] as const) : []
  return ['sharded', 'ring', ...racks, ...(hub === undefined ? [] : (['hub'] as const))]
}

/** The stages in which the hosts sum so many bytes. Costs of racks and hub: Luo et al., Parameter Hub, SoCC 2018, section 3.4. */
export function stagesOf(mode: ExchangeMode, bytes: number, cluster: Cluster, resources: ClusterResources): readonly Stage[] {
  const { hosts, gpus } = cluster
  const stages = hosts === 1 ? [] : BETWEEN_HOSTS[mode](bytes, cluster, resources)
  if (gpus <= 1) return stages
  // Each GPU gets the sum of its part within the host, and in the end the parts of the others.
  const within: Stage = { flows: [flow((bytes * (gpus - 1)) / gpus, [[resources.gpuLink, 1]])], latency: 0 }
  return [within, ...stages, within]
}

type StagesOf = (bytes: number, cluster: Cluster, resources: ClusterResources) => readonly Stage[]

const BETWEEN_HOSTS: Readonly<Record<ExchangeMode, StagesOf>> = {
  sharded: inParts,
  // A host sends as many bytes, and a neighbour is in the same rack as often as any other host is.
  ring: inParts,

  'rack-ring'(bytes, { hosts, secondsPerMessage }, resources) {
    const across: readonly Use[] = [...hostLinks(resources), [resources.rackUp, 1], [resources.rackDown, 1]]
    const stage = { flows: [flow((bytes * (hosts - 1)) / hosts, across)], latency: (hosts - 1) * secondsPerMessage }
    return [stage, stage]
  },

  racks(bytes, cluster, resources) {
    const { hosts, hostsOfRack: inRack, secondsPerMessage } = cluster
    const racks = Math.ceil(hosts / inRack)
    const within = {
      flows: [flow((bytes * (inRack - 1)) / inRack, hostLinks(resources))],
      latency: (inRack - 1) * secondsPerMessage
    }
    const across = {
      flows: [flow(((bytes / inRack) * (racks - 1)) / racks, acrossRacks(cluster, resources))],
      latency: (racks - 1) * secondsPerMessage
    }
    return [within, across, across, within]
  },

  hub(bytes, cluster, resources) {
    const { hosts, hostsOfRack, secondsPerMessage: latency } = cluster
    const { up, down, hubUp, hubDown, rackUp, rackDown, processor } = resources
    const beyond = (rack: Resource): readonly Use[] => (hosts > hostsOfRack ? [[rack, hostsOfRack]] : [])
    const push = flow(bytes, [[up, 1], [hubDown, hosts], [processor, 1], ...beyond(rackUp)])
    const pull = flow(bytes, [[down, 1], [hubUp, hosts], [processor, 1], ...beyond(rackDown)])
    return [
      { flows: [push], latency },
      { flows: [pull], latency }
    ]
  }
}

/** Each host sends all parts but one, twice: to be summed, and summed. */
function inParts(bytes: number, cluster: Cluster, resources: ClusterResources): readonly Stage[] {
  const { hosts, secondsPerMessage } = cluster
  const stage = { flows: toOthers((bytes * (hosts - 1)) / hosts, cluster, resources), latency: (hosts - 1) * secondsPerMessage }
  return [stage, stage]
}

type Use = readonly [resource: Resource, times: number]

function flow(bytes: number, uses: readonly Use[]): Flow {
  return { bytes, uses: new Map(uses) }
}

/** What a host sends comes from as many bytes of others, and its processor handles both. */
function hostLinks({ up, down, processor }: ClusterResources): readonly Use[] {
  return [
    [up, 1],
    [down, 1],
    [processor, 2]
  ]
}

function acrossRacks({ hosts, hostsOfRack }: Cluster, resources: ClusterResources): readonly Use[] {
  const sharing = Math.min(hosts, hostsOfRack)
  return [...hostLinks(resources), [resources.rackUp, sharing], [resources.rackDown, sharing]]
}

/** Bytes that a host sends to the other hosts in equal shares, those of its rack among them. */
function toOthers(bytes: number, cluster: Cluster, resources: ClusterResources): readonly Flow[] {
  const { hosts, hostsOfRack } = cluster
  const near = Math.min(hosts, hostsOfRack) - 1
  const share = bytes / (hosts - 1)
  const flows = [flow(share * near, hostLinks(resources))]
  return near === hosts - 1 ? flows : [...flows, flow(share * (hosts - 1 - near), acrossRacks(cluster, resources))]
}
