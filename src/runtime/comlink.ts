import type { MessagePort } from 'node:worker_threads'
import type { Endpoint } from 'comlink'
import { ArbalestError } from '../errors.js'
import { packError, unpackError } from './errors-across-threads.js'

/** What can be called through comlink: an actor's ref, or anything with asynchronous methods under `ask`. */
export interface Callable {
  readonly ask: object
}

/** What comlink sends, as far as it is answered. */
interface Request {
  readonly id: string
  readonly type: string
  readonly path: readonly string[]
  readonly argumentList?: readonly { readonly type: string; readonly value: unknown }[]
}

type Listener = (event: { readonly data: unknown }) => void

/**
 * An endpoint for `Comlink.wrap<Asks<A>>(endpoint)`, of an actor that this thread holds a ref of, or of the port that another thread
 * called `exposeToComlink` with. Every call settles: it rejects when the actor is no more, when its deadline is over, and when the
 * thread at the port's other end has gone. Errors keep class, code, data and cause.
 */
export function comlinkEndpoint(target: Callable | MessagePort): Endpoint {
  return 'ask' in target ? new RefEndpoint(target) : new PortEndpoint(target)
}

/** Lets the thread at the other end of `port` call `target`. Gives the function that ends it and closes the port. */
export function exposeToComlink(target: Callable, port: MessagePort): () => void {
  port.on('message', (request: Request) => {
    void answerTo(target, request, (thrown) => ({ isError: false, packed: packError(thrown), value: undefined })).then((answer) => {
      try {
        port.postMessage(answer)
      } catch (error) {
        port.postMessage(thrownTo(request.id, { isError: false, packed: packError(error), value: undefined }))
      }
      if (request.type === 'RELEASE') port.close()
    })
  })
  return () => port.close()
}

/** What comlink throws at its caller: `value`; `packed` becomes that on the way. */
interface Thrown {
  readonly isError: false
  readonly value: unknown
  readonly packed?: ReturnType<typeof packError>
}

/** One call, answered the way comlink expects it. */
async function answerTo({ ask }: Callable, request: Request, thrown: (error: unknown) => Thrown): Promise<object> {
  const { id, type, path, argumentList = [] } = request
  try {
    if (type === 'RELEASE') return { id, type: 'RAW', value: undefined }
    const method = type === 'APPLY' && path.length === 1 ? (ask as Record<string, unknown>)[path[0]!] : undefined
    if (typeof method !== 'function') {
      const message = `comlink ${type} ${path.join('.')}: an actor has methods only; call one of them`
      throw new ArbalestError('UNKNOWN_NAME', message, { data: { parameter: 'comlink', received: path } })
    }
    const value: unknown = await method(...argumentList.map((argument) => argument.value))
    return { id, type: 'RAW', value }
  } catch (error) {
    return thrownTo(id, thrown(error))
  }
}

function thrownTo(id: string, value: Thrown): object {
  return { id, type: 'HANDLER', name: 'throw', value }
}

/** Comlink's listeners, in an object that knows how to reach them. */
class Listeners {
  readonly #listeners = new Set<Listener>()

  addEventListener(_type: string, listener: unknown): void {
    this.#listeners.add(listener as Listener)
  }

  removeEventListener(_type: string, listener: unknown): void {
    this.#listeners.delete(listener as Listener)
  }

  protected hear(data: unknown): void {
    for (const listener of this.#listeners) listener({ data })
  }

  protected forget(): void {
    this.#listeners.clear()
  }
}

class RefEndpoint extends Listeners implements Endpoint {
  readonly #target: Callable

  constructor(target: Callable) {
    super()
    this.#target = target
  }

  postMessage(request: Request): void {
    void answerTo(this.#target, request, (value) => ({ isError: false, value })).then((answer) => {
      this.hear(answer)
      if (request.type === 'RELEASE') this.forget()
    })
  }
}

/** Remembers what was asked: comlink alone would wait for ever when the other end goes. */
class PortEndpoint extends Listeners implements Endpoint {
  readonly #port: MessagePort
  readonly #asked = new Map<string, string>()
  #closed = false

  constructor(port: MessagePort) {
    super()
    this.#port = port
    port.on('message', (answer: { id: string; value?: unknown }) => this.#answered(answer))
    port.on('close', () => this.#end())
  }

  postMessage(request: Request, transfer: Parameters<Endpoint['postMessage']>[1] = []): void {
    if (this.#closed) return this.#refuse(request.id, request.path.join('.'))
    this.#port.postMessage(request, transfer as never)
    this.#asked.set(request.id, request.path.join('.'))
  }

  #answered(answer: { id: string; value?: unknown }): void {
    this.#asked.delete(answer.id)
    const { packed } = (answer.value ?? {}) as Partial<Thrown>
    this.hear(packed && 'name' in answer ? thrownTo(answer.id, { isError: false, value: unpackError(packed) }) : answer)
  }

  #end(): void {
    this.#closed = true
    for (const [id, method] of this.#asked) this.#refuse(id, method)
    this.#asked.clear()
  }

  #refuse(id: string, method: string): void {
    const message = `comlink ${method}: no answer will come, the other end of the port is closed; expose the actor anew`
    const value = new ArbalestError('ACTOR_GONE', message, { data: { method } })
    // Never inside of the call that asked.
    queueMicrotask(() => this.hear(thrownTo(id, { isError: false, value })))
  }
}
