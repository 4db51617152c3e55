import type { Cluster, ClusterTraffic, ExchangeMode } from './cluster.js'
import { busySeconds, firstChunkSeconds } from './cost-model.js'
import type { Flow, Resource } from './fluid-network.js'

/** Bytes that move at the same time, and the seconds that the last of them take besides. A stage begins when the one before it has ended. */
export interface Stage {
  readonly flow: Flow
  readonly latency: number
}

/** What flows go through, by the seconds that it is busy with them. Since all hosts do the same, one stands for all. */
export class ClusterResources {
  readonly host = busy("a host's link")
  readonly rack = busy("a rack's link to the others")
  readonly hub = busy("the hub's link")
  readonly processor = busy("a host's processor")
  readonly gpuLink = busy("a GPU's links")
}

/** What an exchange runs on. */
export interface Machines {
  readonly cluster: Cluster
  readonly traffic: ClusterTraffic
  readonly resources: ClusterResources
}

/** The stages in which the hosts sum so many bytes. */
export function stagesOf(mode: ExchangeMode, bytes: number, { cluster, traffic, resources }: Machines): readonly Stage[] {
  const { hosts, gpus, costs, gpuLink } = cluster
  const stages: Stage[] = []
  if (hosts > 1) {
    const found = traffic.of(mode, bytes)
    const seconds = busySeconds(found, costs)
    const uses = (Object.keys(seconds) as (keyof typeof seconds)[]).map((name) => [resources[name], seconds[name]] as const)
    stages.push({ flow: flowOf(bytes, uses), latency: firstChunkSeconds(found, bytes, costs) })
  }
  if (gpus <= 1) return stages
  // Each GPU gets the sum of its part within the host, and in the end the parts of the others.
  const within: Stage = { flow: flowOf(bytes, [[resources.gpuLink, (bytes * (gpus - 1)) / gpus / gpuLink]]), latency: 0 }
  return [within, ...stages, within]
}

function busy(name: string): Resource {
  return { name, capacity: 1 }
}

function flowOf(bytes: number, seconds: readonly (readonly [resource: Resource, seconds: number])[]): Flow {
  const used = seconds.filter(([, each]) => each > 0)
  return { bytes, uses: new Map(used.map(([resource, each]) => [resource, each / bytes])) }
}
