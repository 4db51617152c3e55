import { packExit, unpackExit, type ExitReason, type PortableExit } from './exit-reason.js'

/** Why a message was not handled. */
export type DeadLetterCause =
  /** The actor had ended, or ended while the message was in its mailbox. */
  | 'actorGone'
  /** Its mailbox was full. */
  | 'mailboxFull'
  /** The message cannot be cloned to the actor's thread. */
  | 'notCloneable'
  /** The fault injector of a test dropped it. */
  | 'dropped'

/** What happens to actors. A lost ask is no event: it rejects. */
export type RuntimeEvent =
  /** `counters` is the memory of the actor's ActorMeter. */
  | { readonly event: 'started'; readonly actor: string; readonly restarts: number; readonly counters: SharedArrayBuffer }
  /** The actor has failed and is restarted after `delay` milliseconds. */
  | { readonly event: 'restarting'; readonly actor: string; readonly reason: ExitReason; readonly delay: number }
  /** The actor has ended and is not restarted. */
  | { readonly event: 'exited'; readonly actor: string; readonly reason: ExitReason }
  /** The children of `actor` failed more often than its restart intensity allows, so it fails too. The system's own name is ''. */
  | { readonly event: 'escalated'; readonly actor: string; readonly error: Error }
  /** A tell was lost. If a thread died with its mailbox, `method` is '' and `count` is the most that can have been lost. */
  | {
      readonly event: 'deadLetter'
      readonly actor: string
      readonly method: string
      readonly cause: DeadLetterCause
      readonly count: number
    }
  /** A thread cannot be terminated, because a call of native code does not return. Only the end of the process ends it. */
  | { readonly event: 'unhealthy'; readonly actor: string; readonly error: Error }

/** Listeners by the name of their event, for the types of an event emitter. */
export type RuntimeEvents = {
  [E in RuntimeEvent as E['event']]: (event: E) => void
}

export type PortableEvent = { readonly event: RuntimeEvent; readonly exit: PortableExit | undefined }

/** Stands in an event for the error that is posted beside it. */
const PLACEHOLDER = new Error('packed')

/** An event in a form that can be posted to another thread. */
export function packEvent(event: RuntimeEvent): PortableEvent {
  if ('error' in event) return { event: { ...event, error: PLACEHOLDER }, exit: packExit({ kind: 'failed', error: event.error }) }
  if ('reason' in event) return { event: { ...event, reason: { kind: 'stopped' } }, exit: packExit(event.reason) }
  return { event, exit: undefined }
}

export function unpackEvent({ event, exit }: PortableEvent): RuntimeEvent {
  if (exit === undefined) return event
  const reason = unpackExit(exit)
  if ('error' in event) return { ...event, error: reason.kind === 'failed' ? reason.error : event.error }
  return 'reason' in event ? { ...event, reason } : event
}
