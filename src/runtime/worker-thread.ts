import { Worker, type MessagePort, type Transferable, type WorkerOptions } from 'node:worker_threads'
import { ArbalestError, invalidOption } from '../errors.js'
import { transfersOf } from './cloneable.js'
import { checkAddressSpace } from './address-space.js'
import { LONGEST_TIMEOUT, type Cancel, type Clock } from './clock.js'
import { asError } from './errors-across-threads.js'
import { unpackEvent, type PortableEvent, type RuntimeEvent } from './events.js'
import type { PortableExit } from './exit-reason.js'

/** What an actor in a worker is started with. */
export interface ActorStart {
  readonly port: MessagePort
  readonly name: string
  readonly module: string
  readonly className: string
  readonly options: unknown
  readonly restarted: PortableExit | undefined
  /** One Int32: not 0 when the actor is to stop. */
  readonly stopFlag: SharedArrayBuffer
  /** The memory of its ActorMeter. */
  readonly counters: SharedArrayBuffer
  /** Milliseconds that it may take to stop. */
  readonly shutdown: number
  /** It returns credits for this many messages at once. */
  readonly creditEvery: number
}

/** What a worker thread is started with. */
export interface ThreadStart {
  readonly first: ActorStart
  /** More actors may be added; the thread ends on command. */
  readonly shared: boolean
  /** One Int32 that the thread increments every `every` milliseconds while its event loop turns. */
  readonly heartbeat: { readonly memory: SharedArrayBuffer; readonly every: number } | undefined
}

/** What is posted to a worker thread itself, not to one of its actors. */
export type ThreadCommand = readonly ['spawn', ActorStart] | readonly ['end']

export interface ThreadExit {
  readonly code: number
  /** The uncaught error that ended the thread. */
  readonly error: Error | undefined
}

/** Who is told how a thread ends. Each is called at most once. */
export interface ThreadListener {
  readonly exited: (exit: ThreadExit) => void
  /** The heartbeat has stopped for its timeout, in milliseconds: that of the actor that began the thread. */
  readonly heartbeatLost: (timeout: number) => void
}

/** What a worker thread needs of the thread that starts it. */
export interface WorkerHost {
  readonly clock: Clock
  readonly publish: (event: RuntimeEvent) => void
  /** The running threads that several actors share, by name. */
  readonly sharedWorkers: Map<string, WorkerThread>
}

export interface WorkerThreadOptions {
  /** The name under which other actors may join the thread; undefined for a thread of one actor. */
  readonly shared: string | undefined
  readonly heartbeatTimeout: number | undefined
}

/** Milliseconds that a thread without actors may take to end by itself, so that its last output is still written. */
const LINGER = 100
/** Checks of the heartbeat within its timeout. */
const CHECKS = 4

/** Threads that this thread has started and that have yet to reserve their address space. */
let starting = 0

/** A worker thread and the actors in it, seen from the thread that started it. */
export class WorkerThread {
  readonly #worker: Worker
  readonly #host: WorkerHost
  readonly #shared: boolean
  /** Of the actors that run there: a thread that several share may outlive thousands of them. */
  readonly #listeners = new Set<ThreadListener>()
  #cancelLinger: Cancel | undefined
  #cancelCheck: Cancel | undefined
  #actors = 1
  #closed = false

  /** Starts an actor in the thread that it shares, if that runs, else in a new one. Throws what the constructor throws. */
  static enter(actor: ActorStart, host: WorkerHost, entry: URL, options: WorkerThreadOptions): WorkerThread {
    const { shared: name } = options
    const running = name === undefined ? undefined : host.sharedWorkers.get(name)
    if (running && !running.#closed) {
      running.#addActor(actor)
      return running
    }
    const thread = new WorkerThread(actor, host, entry, options)
    if (name !== undefined) {
      host.sharedWorkers.set(name, thread)
      const exited = () => {
        if (host.sharedWorkers.get(name) === thread) host.sharedWorkers.delete(name)
      }
      thread.listen({ exited, heartbeatLost: () => {} })
    }
    return thread
  }

  /** Throws INVALID_OPTION for a timeout that is not positive, OUT_OF_MEMORY, LIMIT_REACHED, and Node's error if the options cannot be cloned. */
  private constructor(first: ActorStart, host: WorkerHost, entry: URL, { shared, heartbeatTimeout: timeout }: WorkerThreadOptions) {
    if (timeout !== undefined && !(timeout > 0)) throw invalidOption('heartbeat.timeout', timeout, 'use more than 0 milliseconds')
    this.#host = host
    this.#shared = shared !== undefined
    // A timeout that no timer of Node's takes is not checked.
    const heartbeat =
      timeout === undefined || timeout > LONGEST_TIMEOUT
        ? undefined
        : { memory: new SharedArrayBuffer(4), every: Math.max(1, timeout / CHECKS / 2) }
    const workerData: ThreadStart = { first, shared: this.#shared, heartbeat }
    checkAddressSpace(starting)
    const transferList = transfersOf([first.options], [first.port])!
    this.#worker = startWorker(entry, { name: shared ?? first.name, workerData, transferList, ...flagsForWorker() })
    starting++
    let isStarting = true
    const started = () => {
      if (isStarting) starting--
      isStarting = false
    }
    this.#worker.once('online', started).once('exit', started)
    let uncaught: Error | undefined
    this.#worker.on('error', (error) => (uncaught = asError(error)))
    this.#worker.on('message', (event: PortableEvent) => host.publish(unpackEvent(event)))
    this.#worker.on('exit', (code) => {
      this.#closed = true
      this.#cancelLinger?.()
      this.#cancelCheck?.()
      for (const { exited } of this.#listeners) exited({ code, error: uncaught })
    })
    if (heartbeat) this.#checkHeartbeat(new Int32Array(heartbeat.memory), timeout!, 0, 0)
  }

  /** One of its actors has ended. The thread ends with the last one. */
  actorExited(): void {
    if (--this.#actors > 0 || this.#closed) return
    this.#closed = true
    if (this.#shared) this.#command(['end'])
    this.#cancelLinger = this.#host.clock.after(LINGER, () => this.terminate())
  }

  /** Tells the listener how the thread ends, until the result is called. */
  listen(listener: ThreadListener): Cancel {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Ends the thread, whatever JavaScript it runs. A call of native code has to return first. */
  terminate(): void {
    this.#closed = true
    void this.#worker.terminate()
  }

  #addActor(actor: ActorStart): void {
    this.#command(['spawn', actor], transfersOf([actor.options], [actor.port]))
    this.#actors++
  }

  #command(command: ThreadCommand, transfer: readonly Transferable[] = []): void {
    this.#worker.postMessage(command, transfer)
  }

  /** Checks only a heartbeat that has begun: the start has a deadline of its own. */
  #checkHeartbeat(count: Int32Array, timeout: number, last: number, missed: number): void {
    this.#cancelCheck = this.#host.clock.after(timeout / CHECKS, () => {
      const now = Atomics.load(count, 0)
      const missing = now === last && now > 0 ? missed + 1 : 0
      if (missing < CHECKS) return this.#checkHeartbeat(count, timeout, now, missing)
      this.#closed = true
      for (const { heartbeatLost } of this.#listeners) heartbeatLost(timeout)
    })
  }
}

/** LIMIT_REACHED: the system starts no further thread. */
export function threadsExhausted(cause?: unknown): ArbalestError {
  const message = 'threads: the system allows no more: raise the limit (ulimit -u, or pids of the container), or use fewer learners'
  return new ArbalestError('LIMIT_REACHED', message, { cause, data: { limit: 'threads' } })
}

/** Throws LIMIT_REACHED if the system refuses a further thread, for which Node's error has only the system's code, and if Node's permissions refuse any. */
function startWorker(entry: URL, options: WorkerOptions): Worker {
  try {
    return new Worker(entry, options)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ERR_WORKER_INIT_FAILED') throw threadsExhausted(error)
    if (code === 'ERR_ACCESS_DENIED') {
      const denied = 'threads: Node.js was told to allow none; start it with --allow-worker beside --permission'
      throw new ArbalestError('LIMIT_REACHED', denied, { cause: error, data: { limit: 'threads' } })
    }
    const { execArgv = [] } = options
    const kept = code === 'ERR_WORKER_INVALID_EXEC_ARGV' ? withoutRefused(execArgv, message) : execArgv
    if (kept.length === execArgv.length) throw error
    return startWorker(entry, { ...options, execArgv: kept })
  }
}

/** Node refuses flags of the whole process, which hold in a worker without being repeated, and its error names them: `...: --stack-size=400, --jitless`. */
function withoutRefused(flags: readonly string[], message: string): string[] {
  const refused = new Set(message.slice(message.indexOf(': ') + 2).split(', '))
  return flags.filter((flag) => !refused.has(flag))
}

/**
 * `--input-type`, which belongs to `node --eval`, is removed: with it Node refuses to start a worker from a file. Without it the worker inherits
 * the process's flags, because Node refuses some of them when they are repeated.
 */
function flagsForWorker(): { execArgv?: string[] } {
  const kept = process.execArgv.filter((argument) => !argument.startsWith('--input-type'))
  return kept.length < process.execArgv.length ? { execArgv: kept } : {}
}
