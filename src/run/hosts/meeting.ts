import type { Resumption } from '../../checkpoints/resume.js'
import type { HostsSpec } from '../../engine/contract.js'
import { invalidOption } from '../../errors.js'
import { joiningProcess } from '../../hosts/several-processes.js'
import { tenancyOf } from '../../hosts/tenants.js'
import type { Settings } from '../../options/settings.js'
import type { Follower } from './follower.js'
import { resumedSettings } from '../run-settings.js'
import type { Beginning, Preparation } from './hello.js'
import type { Leader } from './leader.js'
import type { RunHost } from './run-host.js'

/** The hosts of a run, as the first one knows them. */
export interface LedHosts {
  readonly host: RunHost
  readonly leader: Leader
}

/** The hosts of a run, as another than the first one knows them. */
export interface FollowedHosts {
  readonly host: RunHost
  readonly follower: Follower
}

export type Hosts = LedHosts | FollowedHosts

/** Seconds without a sign of life after which a host is lost. */
export const DEADLINE = 60

/** How this process joins the others of its launcher; undefined if it trains alone. Throws BACKEND_UNAVAILABLE and INVALID_OPTION. */
export function hostsSpecOf({ devices: { hosts } }: Settings): HostsSpec | undefined {
  if (hosts === 'none') return undefined
  const launched = joiningProcess()
  if (!launched) return undefined
  if (hosts === 'loopback') throw invalidOption('hosts', hosts, `omit it: ${launched.launcher} has started ${launched.size} processes`)
  const tenancy = tenancyOf(launched)
  if (tenancy?.own === undefined) return { kind: 'mpi', deadline: DEADLINE }
  return { kind: 'mpi', links: [tenancy.hostsOf[tenancy.own]!], sealed: true, deadline: DEADLINE }
}

export function leaderOf(hosts: Hosts | undefined): Leader | undefined {
  return hosts && 'leader' in hosts ? hosts.leader : undefined
}

/**
 * The hosts find out whether they are about to train the same. Only the first one finds the checkpoint from which they go on, and knows how many learners
 * begin: the others wait until it lets them begin.
 */
export async function meet(
  hosts: Hosts | undefined,
  preparation: Preparation,
  find: () => Promise<Resumption | undefined>
): Promise<Beginning> {
  const { settings } = preparation
  if (hosts && 'follower' in hosts) return hosts.follower.begin(preparation)
  await hosts?.leader.meet(preparation)
  const resumption = await find()
  return { resumption, settings: resumption ? resumedSettings(settings, resumption.state) : settings }
}
