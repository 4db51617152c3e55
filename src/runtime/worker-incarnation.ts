import { MessageChannel, receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import { ArbalestError, warn } from '../errors.js'
import { deadlineAfter, type Cancel } from './clock.js'
import type { Environment } from './environment.js'
import { asError, unpackError } from './errors-across-threads.js'
import { actorGone, packExit, type ExitReason } from './exit-reason.js'
import type { Incarnation, IncarnationOwner, UserMessage } from './incarnation.js'
import { deferred } from './promises.js'
import { Inbox, Outbox, type Message, type Packet } from './wire-protocol.js'
import { WorkerThread, type ActorStart, type ThreadExit } from './worker-thread.js'

export interface RemoteStart {
  readonly name: string
  readonly module: string
  readonly className: string
  readonly options: unknown
  readonly restarted: ExitReason | undefined
  /** Messages that may be on their way to it. */
  readonly window: number
  readonly shutdown: number
  /** The name of the thread, if it is shared. */
  readonly worker: string | undefined
  readonly heartbeatTimeout: number | undefined
  readonly cancel: (() => void) | undefined
}

/** Milliseconds that a terminated thread may take to end. It takes longer only inside native code. */
const TERMINATION = 5_000

/** An incarnation in a worker, seen from the thread of its owner. */
export class WorkerIncarnation implements Incarnation {
  /** Without what is needed at the start alone: an incarnation kept the failure of the one before, and that the one before it. */
  readonly #start: Omit<RemoteStart, 'module' | 'className' | 'options' | 'restarted' | 'window' | 'heartbeatTimeout'>
  readonly #owner: IncarnationOwner
  readonly #environment: Environment
  readonly #thread: WorkerThread
  /** The thread keeps this incarnation no longer. */
  readonly #forget: Cancel
  readonly #port: MessagePort
  readonly #outbox: Outbox
  readonly #inbox = new Inbox()
  readonly #stopFlag = new Int32Array(new SharedArrayBuffer(4))
  readonly #timers = new Set<Cancel>()
  readonly #started = deferred()
  readonly #exited = deferred<ExitReason>()
  /** Why the actor ended, if that is known before its thread has ended. */
  #reason: ExitReason | undefined
  /** What the actor said of its tells when it ended: how many it began, and which it left unread. */
  #last: { readonly begun: number; readonly unread: readonly string[] } | undefined
  #told = 0
  #uncredited = 0
  #ending = false
  #ended = false

  /** Resolves when the actor runs. Rejects with its error or the signal's reason, after the end of a thread that is its own. */
  static async start(
    start: RemoteStart,
    owner: IncarnationOwner,
    environment: Environment,
    entry: URL,
    signal: AbortSignal
  ): Promise<WorkerIncarnation> {
    const incarnation = new WorkerIncarnation(start, owner, environment, entry)
    const abort = () => {
      incarnation.#reason = { kind: 'failed', error: asError(signal.reason) }
      incarnation.#terminate()
    }
    signal.addEventListener('abort', abort, { once: true })
    const failure = await Promise.race([incarnation.#started.promise, incarnation.exited])
    signal.removeEventListener('abort', abort)
    if (!failure) return incarnation
    if (failure.kind === 'failed') throw failure.error
    const how = failure.kind === 'exited' ? `its thread ended with code ${failure.code}` : 'it was stopped'
    throw actorGone(start.name, 'started', `${how} before it had started`)
  }

  private constructor(start: RemoteStart, owner: IncarnationOwner, environment: Environment, entry: URL) {
    const { port1, port2 } = new MessageChannel()
    const { name, shutdown, worker, cancel } = start
    this.#start = { name, shutdown, worker, cancel }
    this.#owner = owner
    this.#environment = environment
    this.#port = port1
    this.#outbox = new Outbox(port1, (message, error) => this.#refused(message, error))
    try {
      this.#thread = this.#enterThread(start, port2, entry)
    } catch (error) {
      // The options cannot be cloned.
      port1.close()
      throw error
    }
    port1.on('message', (packet: Packet) => this.#receive(packet))
    const exited = ({ code, error }: ThreadExit) => this.#end(error ? { kind: 'failed', error } : { kind: 'exited', code })
    this.#forget = this.#thread.listen({ exited, heartbeatLost: (timeout) => this.#declareDead(timeout) })
  }

  get exited(): Promise<ExitReason> {
    return this.#exited.promise
  }

  get isEnding(): boolean {
    return this.#ending
  }

  send(message: UserMessage): void {
    this.#uncredited++
    if (message[0] === 'tell') this.#told++
    this.#outbox.post(message)
  }

  suspend(): void {
    this.#outbox.post(['suspend'])
  }

  resume(): void {
    this.#outbox.post(['resume'])
  }

  /** Sets the flag, posts the message and calls the user's `cancel`; terminates the thread after the deadline. */
  stop(deadline: number): void {
    if (this.#ended) return
    this.#ending = true
    Atomics.store(this.#stopFlag, 0, 1)
    this.#outbox.post(['stop'])
    this.#afterDeadline(deadline, () => this.#terminate())
    this.#cancel()
  }

  /** If the user's `cancel` throws, the actor still ends by its deadline. */
  #cancel(): void {
    const { name, cancel } = this.#start
    try {
      cancel?.()
    } catch (error) {
      warn(`${name}: its cancel hook has thrown (${asError(error).message}); its deadline ends it`)
    }
  }

  #enterThread(start: RemoteStart, port: MessagePort, entry: URL): WorkerThread {
    const { name, module, className, options, restarted, window, shutdown, worker, heartbeatTimeout } = start
    const actor: ActorStart = {
      port,
      name,
      module,
      className,
      options,
      restarted: restarted && packExit(restarted),
      stopFlag: this.#stopFlag.buffer,
      counters: this.#owner.counters,
      shutdown,
      creditEvery: Math.max(1, window >> 2)
    }
    return WorkerThread.enter(actor, this.#environment, entry, { shared: worker, heartbeatTimeout })
  }

  #receive(packet: Packet): void {
    for (const message of this.#inbox.read(packet)) {
      if (message[0] === 'answer') this.#owner.answer(message[1], { value: message[2] })
      else if (message[0] === 'error') this.#owner.answer(message[1], { error: unpackError(message[2]) })
      else if (message[0] === 'credit') this.#credit(message[1])
      else if (message[0] === 'started') this.#started.resolve()
      else if (message[0] === 'ending') this.#ending = true
      else if (message[0] === 'exited') {
        // An error outside any message ends the thread without a word before.
        this.#ending = true
        this.#reason ??= message[1] === null ? { kind: 'stopped' } : { kind: 'failed', error: asError(unpackError(message[1])) }
        this.#last = { begun: message[2], unread: message[3] }
        this.#thread.actorExited()
        if (this.#start.worker !== undefined) this.#end(this.#reason)
      }
    }
  }

  #credit(count: number): void {
    this.#uncredited -= count
    this.#owner.credit(count)
  }

  /** Terminates the thread, with all actors that share it. */
  #terminate(): void {
    this.#ending = true
    this.#thread.terminate()
    this.#afterDeadline(TERMINATION, () => {
      const { name } = this.#start
      const message = `${name}: its thread cannot be terminated, a call of native code does not return; end the process`
      const error = new ArbalestError('DEADLINE_EXCEEDED', message, { data: { actor: name, deadline: TERMINATION } })
      this.#environment.publish({ event: 'unhealthy', actor: name, error })
      this.#end({ kind: 'failed', error })
    })
  }

  #declareDead(timeout: number): void {
    const { name, shutdown } = this.#start
    const message = `${name}: its thread has not answered for ${timeout} ms; let its turns end sooner or allow a longer heartbeat.timeout`
    this.#reason ??= { kind: 'failed', error: new ArbalestError('DEADLINE_EXCEEDED', message, { data: { actor: name, timeout } }) }
    this.stop(shutdown)
  }

  #afterDeadline(milliseconds: number, action: () => void): void {
    this.#timers.add(deadlineAfter(this.#environment.clock, milliseconds, action))
  }

  #end(reason: ExitReason): void {
    if (this.#ended) return
    this.#ended = this.#ending = true
    // The thread may have ended before its last packets were read.
    for (let last = receiveMessageOnPort(this.#port); last; last = receiveMessageOnPort(this.#port)) this.#receive(last.message as Packet)
    for (const cancel of this.#timers) cancel()
    this.#forget()
    // Those that cannot be cloned are refused before the others are counted.
    this.#outbox.flush()
    this.#port.close()
    this.#reportLost()
    this.#exited.resolve(this.#reason ?? reason)
  }

  #reportLost(): void {
    const unread = this.#last?.unread ?? []
    for (const method of unread) this.#owner.lost(method, 'actorGone')
    // Messages that were on their way are known by their number only.
    const others = this.#last ? this.#told - this.#last.begun - unread.length : this.#uncredited
    if (others > 0) this.#owner.lost('', 'actorGone', others)
  }

  #refused(message: Message, error: Error): void {
    if (message[0] !== 'ask' && message[0] !== 'tell') return
    this.#credit(1)
    if (message[0] === 'ask') this.#owner.answer(message[1], { error })
    else {
      this.#told--
      this.#owner.lost(message[1], 'notCloneable')
      warn(`a message to ${this.#start.name} cannot be posted: ${error.message}`)
    }
  }
}
