import type { DeadLetterCause } from './events.js'
import type { ExitReason } from './exit-reason.js'
import type { AskMessage, TellMessage } from './wire-protocol.js'

/** A message of a user's, in contrast to those by which the runtime controls an actor. */
export type UserMessage = AskMessage | TellMessage

/** How an ask was answered. */
export type Outcome = { readonly value: unknown } | { readonly error: unknown }

/** One incarnation of an actor, from a start to an end, in this thread or another. A restarted actor has several, one after another. */
export interface Incarnation {
  /** Resolves and never rejects. A thread that belongs to this actor alone has ended then. */
  readonly exited: Promise<ExitReason>
  /** It ends, and handles no message that is sent from now on. */
  readonly isEnding: boolean
  send(message: UserMessage): void
  suspend(): void
  resume(): void
  /** The incarnation ends within about twice the deadline, whatever the actor does, plus what its children take by their own deadlines. */
  stop(deadline: number): void
}

/** What an incarnation reports to. */
export interface IncarnationOwner {
  /** The memory of the ActorMeters of all its incarnations. */
  readonly counters: SharedArrayBuffer
  answer(id: number, outcome: Outcome): void
  /** This many messages have left the mailbox. */
  credit(count: number): void
  /** A tell was not handled. */
  lost(method: string, cause: DeadLetterCause, count?: number): void
}
