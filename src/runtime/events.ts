import type { ExitReason } from './actor.js'
import { packExit, unpackExit, type PortableExit } from './errors-across-threads.js'

/** Why a message reached no actor. */
export type LetterFate =
  /** The actor was no more, or ended before its turn came. */
  | 'gone'
  /** Its mailbox was full. */
  | 'full'
  /** It cannot be cloned to the actor's thread. */
  | 'unpostable'
  /** A test's fault injector took it. */
  | 'dropped'

/** What happens to actors, for whoever looks on. Told, not asked: an ask that finds nobody rejects and is no event. */
export type RuntimeEvent =
  /** `figures` is what its Meter counts in. */
  | { readonly event: 'started'; readonly actor: string; readonly restarts: number; readonly figures: SharedArrayBuffer }
  /** Another life follows after `delay` milliseconds. */
  | { readonly event: 'restarting'; readonly actor: string; readonly reason: ExitReason; readonly delay: number }
  /** The actor is no more. */
  | { readonly event: 'exited'; readonly actor: string; readonly reason: ExitReason }
  /** Its children failed more often than is allowed, so that `actor` fails; the system itself has the name ''. */
  | { readonly event: 'escalated'; readonly actor: string; readonly error: Error }
  /** A tell that was lost. `count` messages at most where a thread died with them and their methods are not known: `method` is '' then. */
  | {
      readonly event: 'deadLetter'
      readonly actor: string
      readonly method: string
      readonly fate: LetterFate
      readonly count: number
    }
  /** A thread that cannot be ended from outside: it runs native code that does not come back. Only the end of the process ends it. */
  | { readonly event: 'unhealthy'; readonly actor: string; readonly error: Error }

/** Events by their names, for an event emitter's types. */
export type RuntimeEvents = {
  [E in RuntimeEvent as E['event']]: (event: E) => void
}

export type PortableEvent = { readonly event: RuntimeEvent; readonly exit: PortableExit | undefined }

/** An event in a form that may be posted to another thread. */
export function packEvent(event: RuntimeEvent): PortableEvent {
  if ('error' in event) return { event: { ...event, error: PLACE }, exit: packExit({ kind: 'failed', error: event.error }) }
  if ('reason' in event) return { event: { ...event, reason: { kind: 'stopped' } }, exit: packExit(event.reason) }
  return { event, exit: undefined }
}

export function unpackEvent({ event, exit }: PortableEvent): RuntimeEvent {
  if (exit === undefined) return event
  const reason = unpackExit(exit)
  if ('error' in event) return { ...event, error: reason.kind === 'failed' ? reason.error : event.error }
  return 'reason' in event ? { ...event, reason } : event
}

/** Stands for an error that travels beside its event. */
const PLACE = new Error('packed')
