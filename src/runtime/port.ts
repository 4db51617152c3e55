import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { ArbalestError, shown, warn } from '../errors.js'
import { transfer } from './cloneable.js'
import { packError, unpackError, type PortableError } from './errors-across-threads.js'

export type { MessagePort } from 'node:worker_threads'

/** The sending end of a channel, to be given to an actor in another thread as an argument of a message. It closes when that thread ends. */
export type SendingPort = MessagePort

/** A port whose messages call `take` in this thread. */
export function sendingPort(take: (message: never) => void): SendingPort {
  const { port1, port2 } = new MessageChannel()
  port1.on('message', take as (message: unknown) => void)
  return transfer(port2, [port2])
}

type Request = readonly [id: number, call: unknown]
type Answer = readonly [id: number, value: unknown, error: PortableError | undefined]

interface Open {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** One end of a channel, to be passed to another thread, whose calls are answered here until `close`. */
export interface AnsweredPort {
  readonly port: MessagePort
  readonly close: () => void
}

function isRequest(message: unknown): message is Request {
  return Array.isArray(message) && message.length === 2 && typeof message[0] === 'number'
}

/** Answers calls of another thread, which makes them with `callsOver`. Anything else that is posted there is left, with a warning. Keeps no thread alive. */
export function answeredPort(answer: (call: unknown) => Promise<unknown>): AnsweredPort {
  const { port1, port2 } = new MessageChannel()
  const post = (id: number, value: unknown, error?: PortableError) => {
    try {
      port1.postMessage([id, value, error] satisfies Answer)
    } catch (thrown) {
      // The value cannot be cloned.
      port1.postMessage([id, undefined, packError(thrown)] satisfies Answer)
    }
  }
  port1.on('message', (message: unknown) => {
    // What a listener throws would end the process.
    if (!isRequest(message)) return warn(`port: received ${shown(message)}; it takes only what \`actorsAt(port)\` of arbalest/actors sends`)
    const [id, call] = message
    void answer(call).then(
      (value) => post(id, value),
      (error: unknown) => post(id, undefined, packError(error))
    )
  })
  port1.unref()
  return { port: port2, close: () => port1.close() }
}

/** Makes calls over a port of another thread. Each settles, with ACTOR_GONE if the other end closes. Keeps this thread alive while a call is open, and no longer. */
export function callsOver(port: MessagePort): (call: unknown) => Promise<unknown> {
  const open = new Map<number, Open>()
  let last = 0
  let listening = false
  let closed = false
  const settled = (id: number): Open | undefined => {
    const call = open.get(id)
    open.delete(id)
    if (open.size === 0) port.unref()
    return call
  }
  const gone = () => new ArbalestError('ACTOR_GONE', 'port: no answer will come, the other end is closed')
  const listen = () => {
    listening = true
    closed = hasClosed(port)
    port.on('message', ([id, value, error]: Answer) => {
      const call = settled(id)
      if (error) call?.reject(unpackError(error))
      else call?.resolve(value)
    })
    port.on('close', () => {
      closed = true
      for (const { reject } of open.values()) reject(gone())
      open.clear()
    })
    port.unref()
  }
  return (call) =>
    new Promise((resolve, reject) => {
      if (!listening) listen()
      if (closed) return reject(gone())
      const id = ++last
      // Throws for what cannot be cloned.
      port.postMessage([id, call] satisfies Request)
      open.set(id, { resolve, reject })
      port.ref()
    })
}

/**
 * A port that closed before anything listened to it emits no event, and what is sent over it is lost. But it cannot keep a thread alive. Whether an
 * open port does so stays as it was.
 */
export function hasClosed(port: MessagePort): boolean {
  // Node's types do not have it.
  const hasRef = () => (port as MessagePort & { hasRef(): boolean }).hasRef()
  if (hasRef()) return false
  port.ref()
  const open = hasRef()
  port.unref()
  return !open
}
