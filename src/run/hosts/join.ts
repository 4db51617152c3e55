import type { Engine, HostsSpec } from '../../engine/contract.js'
import { ArbalestError, messageOf, warn } from '../../errors.js'
import type { Settings } from '../../options/settings.js'
import type { JobControl, JobOutcome } from '../job.js'
import { checkedCall } from '../run-directory.js'
import { Follower, HostsBeginAgain } from './follower.js'
import { hostErrorOf, Leader } from './leader.js'
import type { FollowedHosts, LedHosts } from './meeting.js'
import type { ForwardedEvent } from './orders.js'
import { RunHost } from './run-host.js'

/** How a run goes on, on the first host and on the others. */
export interface HostRuns {
  readonly lead: (settings: Settings, control: JobControl, hosts: LedHosts) => Promise<JobOutcome>
  readonly follow: (settings: Settings, control: JobControl, hosts: FollowedHosts) => Promise<JobOutcome>
}

/** Trains together with the other hosts. When it returns or throws, so has every host, or it is lost. */
export async function joinHosts(
  engine: Engine,
  spec: HostsSpec,
  given: Settings,
  control: JobControl,
  runs: HostRuns
): Promise<JobOutcome> {
  using host = await RunHost.open(engine, spec)
  let outcome: JobOutcome
  try {
    outcome = await (host.rank === 0 ? lead(host, given, control, runs) : follow(host, given, control, runs))
  } catch (error) {
    await part(host)
    throw error
  }
  await part(host)
  return outcome
}

/** Ends the link together with the other hosts. One that is lost by now changes nothing: the run has its outcome. */
export async function part(host: RunHost): Promise<void> {
  try {
    await host.end()
  } catch (error) {
    if (!(error instanceof ArbalestError && error.code === 'HOST_LOST')) warn(messageOf(error))
  }
}

async function lead(host: RunHost, given: Settings, control: JobControl, runs: HostRuns): Promise<JobOutcome> {
  const stop = new AbortController()
  const leader = new Leader(
    host,
    async (call) => control.directory.call(checkedCall(call)),
    () => stop.abort()
  )
  try {
    const settings = host.settingsOf(given)
    await leader.greet(settings)
    const outcome = await runs.lead(settings, { ...control, stop: AbortSignal.any([control.stop, stop.signal]) }, { host, leader })
    // A host that is lost by now changes nothing.
    told(() => leader.end({ order: 'end', finished: outcome.finished }))
    return outcome
  } catch (error) {
    told(() => leader.end({ order: 'fail', error: hostErrorOf(error) }))
    throw error
  }
}

/** Emits nothing: the first host does it for all. */
async function follow(host: RunHost, given: Settings, control: JobControl, runs: HostRuns): Promise<JobOutcome> {
  const follower = new Follower(host)
  const askToStop = () => told(() => follower.stop())
  control.stop.addEventListener('abort', askToStop, { once: true })
  const forwarding: JobControl = {
    ...control,
    emit: (event) => FORWARDED.has(event.event) && told(() => follower.emit(event as ForwardedEvent)),
    // The first host decides when the run stops.
    stop: new AbortController().signal
  }
  try {
    let settings = host.settingsOf(given)
    const greeted = follower.greet(settings)
    // The user may have asked for it while the hosts met.
    if (control.stop.aborted) askToStop()
    await greeted
    for (;;) {
      try {
        return await runs.follow(settings, forwarding, { host, follower })
      } catch (error) {
        if (!(error instanceof HostsBeginAgain)) throw error
        const { learningRateScale, interventions } = error
        settings = { ...settings, learningRateScale, interventions }
      }
    }
  } catch (error) {
    await follower.fail(error)
    throw error
  } finally {
    control.stop.removeEventListener('abort', askToStop)
  }
}

const FORWARDED: ReadonlySet<string> = new Set<ForwardedEvent['event']>(['learnerLost', 'logged', 'sampleSkipped', 'warning'])

/** A message that cannot be sent any more has nobody to read it: the loss of the host ends the run by itself. */
export function told(send: () => void): void {
  try {
    send()
  } catch (error) {
    if (!(error instanceof ArbalestError)) warn(messageOf(error))
  }
}
