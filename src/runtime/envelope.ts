import type { MessagePort, Transferable } from 'node:worker_threads'
import type { PortableError } from './errors-across-threads.js'
import { transfersOf } from './transfer.js'

export type AskMessage = readonly [kind: 'ask', id: number, method: string, args: readonly unknown[]]
export type TellMessage = readonly [kind: 'tell', method: string, args: readonly unknown[]]

/**
 * What goes over an actor's port. Tuples and integer ids, because cloning an object's keys is what a small message costs most;
 * everything that a turn sends goes as one envelope.
 */
export type Message =
  | AskMessage
  | TellMessage
  | readonly [kind: 'answer', id: number, value: unknown]
  | readonly [kind: 'error', id: number, error: PortableError]
  /** So many asks and tells have been taken from the mailbox. */
  | readonly [kind: 'credit', count: number]
  /** The actor runs: it was made and its `started` hook is done. */
  | readonly [kind: 'started']
  | readonly [kind: 'stop']
  | readonly [kind: 'suspend']
  | readonly [kind: 'resume']
  /** The actor's last message: it is no more, by its own doing or by its failure; and the tells that it left unread. */
  | readonly [kind: 'gone', failure: PortableError | null, unread: readonly string[]]

export type Envelope = readonly Message[]

/** Gathers what a turn sends, and posts it when the turn ends. */
export class Outbox {
  readonly #port: MessagePort
  readonly #refused: (message: Message, error: Error) => void
  #waiting: Message[] = []

  /** `refused` is called with a message that cannot be cloned; the others of its envelope go out all the same. */
  constructor(port: MessagePort, refused: (message: Message, error: Error) => void) {
    this.#port = port
    this.#refused = refused
  }

  post(message: Message): void {
    if (this.#waiting.push(message) === 1) queueMicrotask(() => this.flush())
  }

  flush(): void {
    if (this.#waiting.length === 0) return
    const envelope = this.#waiting
    this.#waiting = []
    try {
      this.#port.postMessage(envelope, listOf(envelope))
    } catch {
      for (const message of envelope) this.#postAlone(message)
    }
  }

  #postAlone(message: Message): void {
    try {
      this.#port.postMessage([message], listOf([message]))
    } catch (error) {
      this.#refused(message, error as Error)
    }
  }
}

function listOf(envelope: Envelope): Transferable[] | undefined {
  let list: Transferable[] | undefined
  for (const message of envelope) {
    if (message[0] === 'tell') list = transfersOf(message[2], list)
    else if (message[0] === 'ask') list = transfersOf(message[3], list)
    else if (message[0] === 'answer') list = transfersOf([message[2]], list)
  }
  return list
}
