import type { Engine, Handle, HostsSpec } from '../engine/contract.js'
import { ArbalestError, invalidOption } from '../errors.js'
import { poll } from '../poll.js'

/** Seconds that hosts wait for each other at the start, unless `ARBALEST_MEETING_SECONDS` says otherwise: the launcher starts all processes together. */
const MEETING_SECONDS = 120

/** Throws INVALID_OPTION. */
function meetingSeconds({ ARBALEST_MEETING_SECONDS: given }: NodeJS.ProcessEnv): number {
  const seconds = Number(given ?? MEETING_SECONDS)
  if (seconds > 0 && seconds < Infinity) return seconds
  throw invalidOption('ARBALEST_MEETING_SECONDS', given, 'use seconds above 0, or leave it out')
}

/** Joins the other hosts of the run, and waits for them. The thread's event loop goes on meanwhile. Rejects with BACKEND_UNAVAILABLE, HOST_LOST and INVALID_OPTION. */
export async function openHosts(engine: Engine, spec: HostsSpec): Promise<Handle> {
  const hosts = engine.openHosts(spec)
  try {
    await awaitHosts(engine, hosts)
    return hosts
  } catch (error) {
    engine.release(hosts)
    throw error
  }
}

/** Waits until the hosts have met. Rejects with BACKEND_UNAVAILABLE, and with HOST_LOST after `seconds`: MPI itself waits for ever for a process that has died. */
export async function awaitHosts(engine: Engine, hosts: Handle, seconds = meetingSeconds(process.env)): Promise<void> {
  const fix = 'look whether all processes have started, and whether their machines reach each other on all ports (docs/clusters.md)'
  await within(seconds, `met within ${seconds} s; ${fix}`, () => engine.hostsPlace(hosts) !== null)
}

/** Ends the link, when every host has called this. Rejects with HOST_LOST, also after so many seconds. */
export async function endHosts(engine: Engine, hosts: Handle, seconds: number): Promise<void> {
  engine.endHosts(hosts)
  await within(seconds, `ended within ${seconds} s`, () => engine.hostsEnded(hosts))
}

/** Waits until `isDone`. Rejects with HOST_LOST after `seconds`; the error says that not all hosts have `done` it. */
async function within(seconds: number, done: string, isDone: () => boolean): Promise<void> {
  const late = performance.now() + 1000 * seconds
  await poll(() => {
    if (isDone()) return true
    if (performance.now() >= late) throw new ArbalestError('HOST_LOST', `hosts: not all of them have ${done}`)
    return false
  }, 5)
}
