import type { HostsSpec } from '../../engine/contract.js'
import { invalidOption } from '../../errors.js'
import { joiningProcess } from '../../hosts/several-processes.js'
import { tenancyOf } from '../../hosts/tenants.js'
import type { Settings } from '../../options/settings.js'

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
