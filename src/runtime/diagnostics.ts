import { channel } from 'node:diagnostics_channel'
import type { RuntimeEvent } from './events.js'

/** `arbalest:actor:started` and so on: what subscribers of node:diagnostics_channel ask for. */
export type DiagnosticsName = `arbalest:actor:${RuntimeEvent['event']}`

/**
 * Tells Node's diagnostics channels of this thread; costs a look where nobody has subscribed. A subscriber gets the RuntimeEvent itself; one that
 * throws is Node's to report, as an uncaught exception.
 */
export function publishDiagnostics(event: RuntimeEvent): void {
  const one = CHANNELS[event.event]
  if (one.hasSubscribers) one.publish(event)
}

const named = (event: RuntimeEvent['event']) => channel(`arbalest:actor:${event}` satisfies DiagnosticsName)

/** Made once: a channel that nobody holds forgets its subscribers. */
const CHANNELS: Readonly<Record<RuntimeEvent['event'], ReturnType<typeof named>>> = {
  started: named('started'),
  restarting: named('restarting'),
  exited: named('exited'),
  escalated: named('escalated'),
  deadLetter: named('deadLetter'),
  unhealthy: named('unhealthy')
}
