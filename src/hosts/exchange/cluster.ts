import type { Resource } from './fluid-network.js'

/** Equal hosts in equal racks. Rates are of one direction; links move both ways at once. */
export interface Cluster {
  readonly hosts: number
  /** Of each host; 0 where the processor computes. */
  readonly gpus: number
  /** Of a rack, the last one aside. */
  readonly hostsOfRack: number
  /** Bytes a second of a host's link, and of a GPU's links to the others of its host. */
  readonly link: number
  readonly gpuLink: number
  /** How many times more a rack's hosts can send than its link to the other racks. */
  readonly oversubscription: number
  /** Bytes a second of the link of a central hub; undefined where there is none. */
  readonly hub: number | undefined
  /** What a message costs its sender, in seconds, and how many bytes a second a host's processor copies and adds: unlimited for GPUs. */
  readonly secondsPerMessage: number
  readonly processor: number
}

/** What one host's flows go through. Since all hosts do the same, one stands for all. */
export class ClusterResources {
  readonly up: Resource
  readonly down: Resource
  readonly rackUp: Resource
  readonly rackDown: Resource
  readonly hubUp: Resource
  readonly hubDown: Resource
  readonly processor: Resource
  readonly gpuLink: Resource

  constructor({ link, gpuLink, hostsOfRack, oversubscription, hub = 0, processor }: Cluster) {
    const resource = (name: string, bytesPerSecond: number): Resource => ({ name, bytesPerSecond })
    const rack = (hostsOfRack * link) / oversubscription
    this.up = resource("a host's link, out", link)
    this.down = resource("a host's link, in", link)
    this.rackUp = resource("a rack's link, out", rack)
    this.rackDown = resource("a rack's link, in", rack)
    this.hubUp = resource("the hub's link, out", hub)
    this.hubDown = resource("the hub's link, in", hub)
    this.processor = resource("a host's processor", processor)
    this.gpuLink = resource("a GPU's links", gpuLink)
  }
}
