import type { MessagePort, Transferable } from 'node:worker_threads'
import type { PortableError } from './errors-across-threads.js'
import { soon } from './soon.js'
import { transfersOf } from './transfer.js'

export type AskMessage = readonly [kind: 'ask', id: number, method: string, args: readonly unknown[]]
export type TellMessage = readonly [kind: 'tell', method: string, args: readonly unknown[]]

/** What goes over an actor's port. */
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

/**
 * All that a turn sends, as one flat list: a code for each message's kind and what belongs to it. Cloning an object costs more than all else
 * that becomes of a small message, and an array is an object. A method has a number, told once, by which its name is one string for all messages.
 */
export type Envelope = readonly unknown[]

const CODES = { name: 0, ask: 1, tell: 2, answer: 3, error: 4, credit: 5, started: 6, stop: 7, suspend: 8, resume: 9, gone: 10 } as const
const { name: NAME, ask: ASK, tell: TELL } = CODES
/** By code: the kind, and how many values follow it. Those of asks and tells say so themselves. */
const FIXED = [
  [CODES.answer, 'answer', 2],
  [CODES.error, 'error', 2],
  [CODES.credit, 'credit', 1],
  [CODES.started, 'started', 0],
  [CODES.stop, 'stop', 0],
  [CODES.suspend, 'suspend', 0],
  [CODES.resume, 'resume', 0],
  [CODES.gone, 'gone', 2]
] as const
const BY_CODE = new Map<unknown, (typeof FIXED)[number]>(FIXED.map((row) => [row[0], row]))

/** Gathers what a turn sends, and posts it when the turn ends. */
export class Outbox {
  readonly #port: MessagePort
  readonly #refused: (message: Message, error: Error) => void
  readonly #flush = (): void => this.flush()
  readonly #names = new Map<string, number>()
  #waiting: Message[] = []

  /** `refused` is called with a message that cannot be cloned; the others of its envelope go out all the same. */
  constructor(port: MessagePort, refused: (message: Message, error: Error) => void) {
    this.#port = port
    this.#refused = refused
  }

  post(message: Message): void {
    if (this.#waiting.push(message) === 1) soon(this.#flush)
  }

  flush(): void {
    if (this.#waiting.length === 0) return
    const messages = this.#waiting
    this.#waiting = []
    const known = this.#names.size
    try {
      this.#send(messages)
    } catch {
      this.#port.postMessage([...this.#names.keys()].slice(known).flatMap((name) => [NAME, name]))
      for (const message of messages) this.#sendAlone(message)
    }
  }

  #sendAlone(message: Message): void {
    try {
      this.#send([message])
    } catch (error) {
      this.#refused(message, error as Error)
    }
  }

  #send(messages: readonly Message[]): void {
    const envelope: unknown[] = []
    let transfers: Transferable[] | undefined
    for (const message of messages) {
      if (message[0] === 'tell') {
        const [, method, args] = message
        envelope.push(TELL, this.#numberOf(method, envelope), args.length, ...args)
        transfers = transfersOf(args, transfers)
      } else if (message[0] === 'ask') {
        const [, id, method, args] = message
        envelope.push(ASK, this.#numberOf(method, envelope), args.length, id, ...args)
        transfers = transfersOf(args, transfers)
      } else {
        const [kind, ...values] = message
        envelope.push(CODES[kind], ...values)
        if (kind === 'answer') transfers = transfersOf(values, transfers)
      }
    }
    this.#port.postMessage(envelope, transfers)
  }

  /** A name that is new goes out ahead of the message that wants it. */
  #numberOf(method: string, envelope: unknown[]): number {
    const found = this.#names.get(method)
    if (found !== undefined) return found
    const number = this.#names.size
    this.#names.set(method, number)
    envelope.push(NAME, method)
    return number
  }
}

/** Opens the envelopes of one Outbox, in the order in which they were posted. */
export class Inbox {
  readonly #names: string[] = []

  open(envelope: Envelope): Message[] {
    const messages: Message[] = []
    let at = 0
    while (at < envelope.length) {
      const code = envelope[at++]
      if (code === NAME) {
        this.#names.push(envelope[at++] as string)
      } else if (code === TELL || code === ASK) {
        const method = this.#names[envelope[at++] as number]!
        const count = envelope[at++] as number
        const id = code === ASK ? (envelope[at++] as number) : 0
        const args = envelope.slice(at, (at += count))
        messages.push(code === ASK ? ['ask', id, method, args] : ['tell', method, args])
      } else {
        const [, kind, count] = BY_CODE.get(code)!
        messages.push([kind, ...envelope.slice(at, (at += count))] as unknown as Message)
      }
    }
    return messages
  }
}
