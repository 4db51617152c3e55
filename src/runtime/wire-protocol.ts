import type { MessagePort, Transferable } from 'node:worker_threads'
import { canChange, snapshotOf, transfersOf } from './cloneable.js'
import type { PortableError } from './errors-across-threads.js'
import { microtask } from './promises.js'

export type AskMessage = readonly [kind: 'ask', id: number, method: string, args: readonly unknown[]]
export type TellMessage = readonly [kind: 'tell', method: string, args: readonly unknown[]]

/** What is posted between an actor's incarnation in a worker and its owner. */
export type Message =
  | AskMessage
  | TellMessage
  | readonly [kind: 'answer', id: number, value: unknown]
  | readonly [kind: 'error', id: number, error: PortableError]
  /** This many asks and tells have left the mailbox. */
  | readonly [kind: 'credit', count: number]
  /** The actor runs: it was constructed and its `started` hook is done. */
  | readonly [kind: 'started']
  | readonly [kind: 'stop']
  | readonly [kind: 'suspend']
  | readonly [kind: 'resume']
  /** The actor begins to end: of messages that come from now on it handles none. */
  | readonly [kind: 'ending']
  /** The actor's last message: it stopped (null) or failed, began this many tells, and left these unread. Others were still on their way. */
  | readonly [kind: 'exited', failure: PortableError | null, begun: number, unread: readonly string[]]

/**
 * All messages of a turn as one flat list: for each message a code for its kind, then its values. Cloning a nested object or array costs
 * more than everything else that happens to a small message. A method is posted by a number; its name is posted once, before its first use.
 */
export type Packet = readonly unknown[]

const CODES = {
  name: 0,
  ask: 1,
  tell: 2,
  answer: 3,
  error: 4,
  credit: 5,
  started: 6,
  stop: 7,
  suspend: 8,
  resume: 9,
  exited: 10,
  ending: 11
} as const
const { name: NAME, ask: ASK, tell: TELL } = CODES
/** The kinds whose number of values is fixed: code, kind, number of values. An ask or a tell states its own number of arguments. */
const FIXED_LENGTH = [
  [CODES.answer, 'answer', 2],
  [CODES.error, 'error', 2],
  [CODES.credit, 'credit', 1],
  [CODES.started, 'started', 0],
  [CODES.stop, 'stop', 0],
  [CODES.suspend, 'suspend', 0],
  [CODES.resume, 'resume', 0],
  [CODES.exited, 'exited', 3],
  [CODES.ending, 'ending', 0]
] as const
const BY_CODE = new Map<unknown, (typeof FIXED_LENGTH)[number]>(FIXED_LENGTH.map((row) => [row[0], row]))

/** Collects the messages of a turn and posts them as one packet when the turn ends, or with one that could be changed until then. */
export class Outbox {
  readonly #port: MessagePort
  readonly #refused: (message: Message, error: Error) => void
  readonly #flush = (): void => this.flush()
  readonly #names = new Map<string, number>()
  #waiting: Message[] = []

  /** `refused` is called for a message that cannot be cloned; the other messages of its packet are posted all the same. */
  constructor(port: MessagePort, refused: (message: Message, error: Error) => void) {
    this.#port = port
    this.#refused = refused
  }

  post(message: Message): void {
    const waiting = this.#waiting.push(message)
    if (canChange(sentValues(message))) this.flush()
    else if (waiting === 1) microtask(this.#flush)
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
    const packet: unknown[] = []
    let transfers: Transferable[] | undefined
    for (const message of messages) {
      if (message[0] === 'tell') {
        const [, method, args] = message
        packet.push(TELL, this.#numberOf(method, packet), args.length, ...args)
        transfers = transfersOf(args, transfers)
      } else if (message[0] === 'ask') {
        const [, id, method, args] = message
        packet.push(ASK, this.#numberOf(method, packet), args.length, id, ...args)
        transfers = transfersOf(args, transfers)
      } else {
        const [kind, ...values] = message
        packet.push(CODES[kind], ...values)
        if (kind === 'answer') transfers = transfersOf(values, transfers)
      }
    }
    this.#port.postMessage(packet, transfers)
  }

  /** A new name is posted before the message that uses it. */
  #numberOf(method: string, packet: unknown[]): number {
    const found = this.#names.get(method)
    if (found !== undefined) return found
    const number = this.#names.size
    this.#names.set(method, number)
    packet.push(NAME, method)
    return number
  }
}

/** The message with its arguments as they are now, for a sender that posts it later. */
export function messageAsItIs(message: AskMessage | TellMessage): AskMessage | TellMessage {
  if (message[0] === 'tell') return ['tell', message[1], snapshotOf(message[2])]
  return ['ask', message[1], message[2], snapshotOf(message[3])]
}

/** The values of a message that belong to an actor or to the sender. The runtime changes none of its own. */
function sentValues(message: Message): readonly unknown[] {
  if (message[0] === 'ask') return message[3]
  if (message[0] === 'tell') return message[2]
  return message[0] === 'answer' ? [message[2]] : []
}

/** Reads the packets of one Outbox, in the order in which they were posted. */
export class Inbox {
  readonly #names: string[] = []

  read(packet: Packet): Message[] {
    const messages: Message[] = []
    let at = 0
    while (at < packet.length) {
      const code = packet[at++]
      if (code === NAME) {
        this.#names.push(packet[at++] as string)
      } else if (code === TELL || code === ASK) {
        const method = this.#names[packet[at++] as number]!
        const count = packet[at++] as number
        const id = code === ASK ? (packet[at++] as number) : 0
        const args = packet.slice(at, (at += count))
        messages.push(code === ASK ? ['ask', id, method, args] : ['tell', method, args])
      } else {
        const [, kind, count] = BY_CODE.get(code)!
        messages.push([kind, ...packet.slice(at, (at += count))] as unknown as Message)
      }
    }
    return messages
  }
}
