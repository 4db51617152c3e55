import type { MessagePort } from 'node:worker_threads'
import type { PortableError } from './errors-across-threads.js'

/**
 * What goes over an actor's port. Tuples and integer ids, because cloning an object's keys is what a small message costs most;
 * everything that a turn sends goes as one envelope.
 */
export type Message =
  | readonly [kind: 'ask', id: number, method: string, args: readonly unknown[]]
  | readonly [kind: 'tell', method: string, args: readonly unknown[]]
  | readonly [kind: 'answer', id: number, value: unknown]
  | readonly [kind: 'error', id: number, error: PortableError]
  /** The actor runs: it was made and its `started` hook is done. */
  | readonly [kind: 'started']
  | readonly [kind: 'stop']
  /** The actor's last message: it is no more, by its own doing or by its failure. */
  | readonly [kind: 'gone', failure: PortableError | null]

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
      this.#port.postMessage(envelope)
    } catch {
      for (const message of envelope) this.#postAlone(message)
    }
  }

  #postAlone(message: Message): void {
    try {
      this.#port.postMessage([message])
    } catch (error) {
      this.#refused(message, error as Error)
    }
  }
}
