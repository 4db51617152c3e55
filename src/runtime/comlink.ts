import type { MessagePort } from 'node:worker_threads'
import { ArbalestError, invalidOption, shown, warn } from '../errors.js'
import { packError, unpackError } from './errors-across-threads.js'
import { hasClosed } from './port.js'

/** What comlink can call: an actor's ref, or any object with asynchronous methods under `ask`. */
export interface Callable {
  readonly ask: object
}

/** The parts of comlink's messages that are read here. */
interface Request {
  readonly id: string
  readonly type: string
  readonly path: readonly string[]
  readonly argumentList?: readonly { readonly type: string; readonly value: unknown }[]
}

/** An "Endpoint" of comlink's. Its own declarations need those of a browser, which a program on Node.js does not have. */
export interface ComlinkEndpoint {
  /** Makes a call of comlink's. */
  postMessage(message: unknown, transfer?: readonly unknown[]): void
  /** Adds a listener for answers. */
  addEventListener(type: string, listener: unknown): void
  /** Removes a listener. */
  removeEventListener(type: string, listener: unknown): void
}

type Listener = (event: { readonly data: unknown }) => void

/**
 * An endpoint for `Comlink.wrap<Asks<A>>(endpoint)`: of an actor whose ref this thread has, or of a port whose other end another thread
 * passed to `exposeToComlink`. Every call settles: it rejects when the actor has ended, when its deadline is over, and when the thread at
 * the other end has ended. Errors keep class, code, data and cause.
 */
export function comlinkEndpoint(target: Callable | MessagePort): ComlinkEndpoint {
  if (isCallable(target)) return new RefEndpoint(target)
  if (isPort(target)) return new PortEndpoint(target)
  throw invalidOption('target', target, 'use the ref of an actor, or a MessagePort')
}

/** Lets the thread at the other end of `port` call `target`. Returns the function that closes the port. */
export function exposeToComlink(target: Callable, port: MessagePort): () => void {
  if (!isCallable(target)) throw invalidOption('target', target, 'use the ref of an actor, or an object with methods under ask')
  if (!isPort(port)) throw invalidOption('port', port, 'use a MessagePort')
  port.on('message', (request: Request | null) => {
    // What a listener throws would end the process.
    if (typeof request?.id !== 'string') return warn(`port: received ${shown(request)}; it takes only what comlink sends`)
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

function isCallable(target: unknown): target is Callable {
  // That of a ref is a Proxy.
  const { ask } = Object(target) as Partial<Callable>
  return (typeof ask === 'object' && ask !== null) || typeof ask === 'function'
}

/** Not by its class, of which another realm has its own. */
function isPort(target: unknown): target is MessagePort {
  const { on, postMessage } = Object(target) as Partial<MessagePort>
  return typeof on === 'function' && typeof postMessage === 'function'
}

/** A thrown value in comlink's form. Across threads it travels as `packed`. */
interface Thrown {
  readonly isError: false
  readonly value: unknown
  readonly packed?: ReturnType<typeof packError>
}

/** Answers one call in comlink's form. */
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

/** The part of an endpoint that comlink listens to. */
class ListenerSet {
  readonly #listeners = new Set<Listener>()

  addEventListener(_type: string, listener: unknown): void {
    this.#listeners.add(listener as Listener)
  }

  removeEventListener(_type: string, listener: unknown): void {
    this.#listeners.delete(listener as Listener)
  }

  protected emit(data: unknown): void {
    for (const listener of this.#listeners) listener({ data })
  }

  protected removeListeners(): void {
    this.#listeners.clear()
  }
}

class RefEndpoint extends ListenerSet implements ComlinkEndpoint {
  readonly #target: Callable

  constructor(target: Callable) {
    super()
    this.#target = target
  }

  postMessage(request: Request): void {
    void answerTo(this.#target, request, (value) => ({ isError: false, value })).then((answer) => {
      this.emit(answer)
      if (request.type === 'RELEASE') this.removeListeners()
    })
  }
}

/** Records the open calls, to reject them when the other end closes: comlink alone would wait for ever. */
class PortEndpoint extends ListenerSet implements ComlinkEndpoint {
  readonly #port: MessagePort
  readonly #open = new Map<string, string>()
  #closed = false

  constructor(port: MessagePort) {
    super()
    this.#port = port
    this.#closed = hasClosed(port)
    port.on('message', (answer: { id: string; value?: unknown }) => this.#answered(answer))
    port.on('close', () => this.#end())
  }

  postMessage(request: Request, transfer: readonly unknown[] = []): void {
    if (this.#closed) return this.#refuse(request.id, request.path.join('.'))
    this.#port.postMessage(request, transfer as never)
    this.#open.set(request.id, request.path.join('.'))
  }

  #answered(answer: { id: string; value?: unknown }): void {
    this.#open.delete(answer.id)
    const { packed } = (answer.value ?? {}) as Partial<Thrown>
    this.emit(packed && 'name' in answer ? thrownTo(answer.id, { isError: false, value: unpackError(packed) }) : answer)
  }

  #end(): void {
    this.#closed = true
    for (const [id, method] of this.#open) this.#refuse(id, method)
    this.#open.clear()
  }

  #refuse(id: string, method: string): void {
    const message = `comlink ${method}: no answer will come, the other end of the port is closed; expose the actor again`
    const value = new ArbalestError('ACTOR_GONE', message, { data: { method } })
    // Not inside the call itself.
    queueMicrotask(() => this.emit(thrownTo(id, { isError: false, value })))
  }
}
