import type { Resumption } from '../../checkpoints/resume.js'
import type { Settings } from '../../options/settings.js'
import type { Follower } from './follower.js'
import { checkResumed, resumedSettings } from '../run-settings.js'
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

export function leaderOf(hosts: Hosts | undefined): Leader | undefined {
  return hosts && 'leader' in hosts ? hosts.leader : undefined
}

export function followerOf(hosts: Hosts | undefined): Follower | undefined {
  return hosts && 'follower' in hosts ? hosts.follower : undefined
}

/** The settings with the learners of this process alone, for all that is made here. */
export function ownSettings<Given extends Pick<Settings, 'learners' | 'population'>>(hosts: Hosts | undefined, settings: Given): Given {
  return hosts?.host.ownSettings(settings) ?? settings
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
  const follower = followerOf(hosts)
  if (follower) return follower.begin(preparation)
  await leaderOf(hosts)?.meet(preparation)
  const resumption = await find()
  if (!resumption) return { resumption, settings }
  const resumed = resumedSettings(settings, resumption.state, hosts?.host.size)
  checkResumed(resumed)
  return { resumption, settings: resumed }
}
