import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads'
import { ArbalestError } from '../errors.js'
import type { ExitReason } from './actor.js'
import { goneError } from './cell.js'
import { Outbox, type Envelope, type Message } from './envelope.js'
import { asError, unpackError } from './errors-across-threads.js'
import type { PendingAsks } from './pending-asks.js'
import type { Link } from './ref.js'

/** What a worker is started with. */
export interface WorkerStart {
  readonly port: MessagePort
  readonly name: string
  readonly module: string
  readonly className: string
  readonly options: unknown
}

/** How long a thread whose actor has said goodbye may take to end by itself: what it printed last still gets out. */
const LINGER = 100

/** The way to an actor in a worker of its own. */
export class WorkerLink implements Link {
  readonly exited: Promise<ExitReason>
  readonly #name: string
  readonly #worker: Worker
  readonly #port: MessagePort
  readonly #outbox: Outbox
  readonly #pending: PendingAsks
  readonly #timers = new Set<NodeJS.Timeout>()
  #started!: () => void
  #resolveExit!: (reason: ExitReason) => void
  /** Known before the thread has ended, where it had time to say so. */
  #reason: ExitReason | undefined
  #ended = false

  /** Resolves when the actor runs; rejects, its thread ended, with what it threw. */
  static async start(start: Omit<WorkerStart, 'port'>, pending: PendingAsks, deadline: number): Promise<WorkerLink> {
    const link = new WorkerLink(start, pending)
    const started = new Promise<true>((resolve) => (link.#started = () => resolve(true)))
    const timer = setTimeout(() => {
      const message = `${start.name}: not started within ${deadline} ms; allow a longer deadline`
      link.#reason = { kind: 'failed', error: new ArbalestError('DEADLINE_EXCEEDED', message, { data: { actor: start.name, deadline } }) }
      void link.#worker.terminate()
    }, deadline)
    const outcome = await Promise.race([started, link.exited])
    clearTimeout(timer)
    if (outcome === true) return link
    if (outcome.kind === 'failed') throw outcome.error
    throw goneError(start.name, 'started', 'its thread ended before it ran')
  }

  private constructor(start: Omit<WorkerStart, 'port'>, pending: PendingAsks) {
    const { port1, port2 } = new MessageChannel()
    this.#name = start.name
    this.#pending = pending
    this.#port = port1
    this.#outbox = new Outbox(port1, (message, error) => this.#refused(message, error))
    this.exited = new Promise((resolve) => (this.#resolveExit = resolve))
    const workerData: WorkerStart = { ...start, port: port2 }
    // How the main program was read, with `node --eval`, says nothing about the entry, and node refuses a file then.
    const execArgv = process.execArgv.filter((argument) => !argument.startsWith('--input-type'))
    this.#worker = new Worker(new URL('./worker-entry.js', import.meta.url), {
      name: start.name,
      workerData,
      transferList: [port2],
      execArgv
    })
    this.#worker.on('error', (error) => (this.#reason ??= { kind: 'failed', error: asError(error) }))
    this.#worker.on('exit', (code) => this.#exit(code))
    port1.on('message', (envelope: Envelope) => this.#receive(envelope))
  }

  ask(id: number, method: string, args: readonly unknown[]): void {
    this.#outbox.post(['ask', id, method, args])
  }

  tell(method: string, args: readonly unknown[]): void {
    this.#outbox.post(['tell', method, args])
  }

  stop(deadline: number): Promise<ExitReason> {
    if (!this.#ended) {
      this.#outbox.post(['stop'])
      this.#terminateAfter(deadline)
    }
    return this.exited
  }

  #receive(envelope: Envelope): void {
    for (const message of envelope) {
      if (message[0] === 'answer') this.#pending.settle(message[1], { value: message[2] })
      else if (message[0] === 'error') this.#pending.settle(message[1], { error: unpackError(message[2]) })
      else if (message[0] === 'started') this.#started()
      else if (message[0] === 'gone') {
        this.#reason ??= message[1] === null ? { kind: 'stopped' } : { kind: 'failed', error: asError(unpackError(message[1])) }
        this.#terminateAfter(LINGER)
      }
    }
  }

  #terminateAfter(milliseconds: number): void {
    this.#timers.add(setTimeout(() => void this.#worker.terminate(), milliseconds))
  }

  #exit(code: number): void {
    this.#ended = true
    // The thread may be gone before its last envelopes are read.
    for (let last = receiveMessageOnPort(this.#port); last; last = receiveMessageOnPort(this.#port)) this.#receive(last.message as Envelope)
    for (const timer of this.#timers) clearTimeout(timer)
    this.#port.close()
    const reason = this.#reason ?? { kind: 'exited', code }
    this.#pending.close(reason)
    this.#resolveExit(reason)
  }

  #refused(message: Message, error: Error): void {
    if (message[0] === 'ask') this.#pending.settle(message[1], { error })
    else process.emitWarning(`a message to ${this.#name} cannot be posted: ${error.message}`, 'ArbalestWarning')
  }
}
