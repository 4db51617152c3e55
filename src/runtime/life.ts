import type { ExitReason } from './actor.js'
import type { AskMessage, TellMessage } from './envelope.js'
import type { LetterFate } from './events.js'

export type Outcome = { readonly value: unknown } | { readonly error: unknown }

export type UserMessage = AskMessage | TellMessage

/** One life of an actor, from its start to its end, in this thread or in another. A restarted actor has several, one after the other. */
export interface Life {
  /** Resolves, never rejects. An actor's own thread is no more then. */
  readonly exited: Promise<ExitReason>
  send(message: UserMessage): void
  suspend(): void
  resume(): void
  /** The life ends within about twice the deadline, whatever the actor does, beside what its children take by deadlines of their own. */
  stop(deadline: number): void
}

/** Whom a life reports to. */
export interface Correspondent {
  /** What the Meters of its lives count in. */
  readonly figures: SharedArrayBuffer
  answer(id: number, outcome: Outcome): void
  /** So many messages have been taken from the mailbox. */
  credit(count: number): void
  /** A tell reached nobody. */
  lost(method: string, fate: LetterFate, count?: number): void
}
