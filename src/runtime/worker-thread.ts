import { Worker, type MessagePort } from 'node:worker_threads'
import { invalidOption } from '../errors.js'
import type { Cancel } from './clock.js'
import { asError, type PortableExit } from './errors-across-threads.js'
import { unpackEvent, type PortableEvent } from './events.js'
import type { Realm } from './realm.js'

/** What an actor in a worker is started with. */
export interface WorkerStart {
  readonly port: MessagePort
  readonly name: string
  readonly module: string
  readonly className: string
  readonly options: unknown
  readonly restarted: PortableExit | undefined
  /** One Int32: not 0 when the actor is to stop. */
  readonly flag: SharedArrayBuffer
  /** What its Meter counts in. */
  readonly figures: SharedArrayBuffer
  /** Milliseconds that it has to end. */
  readonly shutdown: number
  /** How many messages it takes before it says so. */
  readonly creditEvery: number
}

/** What a worker begins with. */
export interface ThreadStart {
  readonly first: WorkerStart
  /** More actors may come; it ends when it is told to. */
  readonly shared: boolean
  /** One Int32 that the thread counts up every `every` milliseconds while it turns its event loop. */
  readonly pulse: { readonly memory: SharedArrayBuffer; readonly every: number } | undefined
}

/** What goes to a worker that is not for one of its actors. */
export type ThreadOrder = readonly ['spawn', WorkerStart] | readonly ['end']

export interface ThreadEnd {
  readonly code: number
  /** What nobody caught. */
  readonly error: Error | undefined
}

/** How long a thread whose actors have said goodbye may take to end by itself: what it printed last still gets out. */
const LINGER = 100
/** A timer takes no more milliseconds: who may be silent for longer is not looked at. */
const LONGEST_SILENCE = 2 ** 31 - 1
/** Looks at the pulse within the silence that is allowed. */
const LOOKS = 4

/** A worker thread and the actors in it, seen from outside. */
export class WorkerThread {
  readonly exited: Promise<ThreadEnd>
  readonly #worker: Worker
  readonly #realm: Realm
  readonly #shared: boolean
  readonly #silenceListeners = new Set<() => void>()
  #cancelLinger: Cancel | undefined
  #cancelLook: Cancel | undefined
  #actors = 1
  #closed = false

  /** Throws INVALID_OPTION for a silence of no time, and what the options that cannot be cloned throw. */
  constructor(
    first: WorkerStart,
    realm: Realm,
    entry: URL,
    { shared, silence }: { shared: string | undefined; silence: number | undefined }
  ) {
    if (silence !== undefined && !(silence > 0)) throw invalidOption('heartbeat.silence', silence, 'use more than 0 milliseconds')
    this.#realm = realm
    this.#shared = shared !== undefined
    const pulse =
      silence === undefined || silence > LONGEST_SILENCE
        ? undefined
        : { memory: new SharedArrayBuffer(4), every: Math.max(1, silence / LOOKS / 2) }
    const workerData: ThreadStart = { first, shared: this.#shared, pulse }
    this.#worker = new Worker(entry, {
      name: shared ?? first.name,
      workerData,
      transferList: [first.port],
      ...flagsForWorker()
    })
    let uncaught: Error | undefined
    this.#worker.on('error', (error) => (uncaught = asError(error)))
    this.#worker.on('message', (event: PortableEvent) => realm.publish(unpackEvent(event)))
    this.exited = new Promise((resolve) => {
      this.#worker.on('exit', (code) => {
        this.#closed = true
        this.#cancelLinger?.()
        this.#cancelLook?.()
        resolve({ code, error: uncaught })
      })
    })
    if (pulse) this.#look(new Int32Array(pulse.memory), silence! / LOOKS, 0, 0)
  }

  /** Whether it takes another actor. */
  get open(): boolean {
    return !this.#closed
  }

  admit(start: WorkerStart): void {
    this.#order(['spawn', start], [start.port])
    this.#actors++
  }

  /** One actor fewer; the last one ends the thread. */
  dismiss(): void {
    if (--this.#actors > 0 || this.#closed) return
    this.#closed = true
    if (this.#shared) this.#order(['end'])
    this.#cancelLinger = this.#realm.clock.after(LINGER, () => this.terminate())
  }

  /** `listener` is called once the thread has not answered for too long. */
  onSilence(listener: () => void): void {
    this.#silenceListeners.add(listener)
  }

  /** Ends it wherever it is, native code excepted. */
  terminate(): void {
    this.#closed = true
    void this.#worker.terminate()
  }

  #order(order: ThreadOrder, transfer: readonly MessagePort[] = []): void {
    this.#worker.postMessage(order, transfer)
  }

  /** A pulse that has once been felt must not stop. The start has a deadline of its own. */
  #look(pulse: Int32Array, every: number, last: number, missed: number): void {
    this.#cancelLook = this.#realm.clock.after(every, () => {
      const count = Atomics.load(pulse, 0)
      const missing = count === last && count > 0 ? missed + 1 : 0
      if (missing < LOOKS) return this.#look(pulse, every, count, missing)
      this.#closed = true
      for (const listener of this.#silenceListeners) listener()
    })
  }
}

/**
 * How the main program was read, with `node --eval`, says nothing about a worker's module, and node refuses a file then. Otherwise the worker has the
 * process's flags as they are: node refuses some of them where they are given once more.
 */
function flagsForWorker(): { execArgv?: string[] } {
  const kept = process.execArgv.filter((argument) => !argument.startsWith('--input-type'))
  return kept.length < process.execArgv.length ? { execArgv: kept } : {}
}
