import { MessageChannel, receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import { ArbalestError } from '../errors.js'
import type { ExitReason } from './actor.js'
import type { Cancel } from './clock.js'
import { Inbox, Outbox, type Envelope, type Message } from './envelope.js'
import { asError, packExit, unpackError } from './errors-across-threads.js'
import { goneError } from './gone.js'
import type { Correspondent, Life, UserMessage } from './life.js'
import type { Realm } from './realm.js'
import { WorkerThread, type WorkerStart } from './worker-thread.js'

/** What a life in a worker is made of. */
export interface RemoteStart {
  readonly name: string
  readonly module: string
  readonly className: string
  readonly options: unknown
  readonly restarted: ExitReason | undefined
  /** Messages that may be on their way to it. */
  readonly window: number
  readonly shutdown: number
  readonly worker: string | undefined
  readonly silence: number | undefined
  readonly cancel: (() => void) | undefined
}

/** How long a thread that was terminated may take to end. It takes longer only inside of native code. */
const TERMINATION = 5_000

/** An actor in a worker. */
export class WorkerLife implements Life {
  readonly exited: Promise<ExitReason>
  readonly #start: RemoteStart
  readonly #owner: Correspondent
  readonly #realm: Realm
  readonly #thread: WorkerThread
  readonly #port: MessagePort
  readonly #outbox: Outbox
  readonly #inbox = new Inbox()
  readonly #flag = new Int32Array(new SharedArrayBuffer(4))
  readonly #timers = new Set<Cancel>()
  #started!: () => void
  #resolveExit!: (reason: ExitReason) => void
  /** Known before the thread has ended, where it had time to say so. */
  #reason: ExitReason | undefined
  #unread: readonly string[] | undefined
  #uncredited = 0
  #ended = false

  /** Resolves when the actor runs; rejects, its own thread ended, with what it threw or with the signal's reason. */
  static async start(start: RemoteStart, owner: Correspondent, realm: Realm, entry: URL, signal: AbortSignal): Promise<WorkerLife> {
    const life = new WorkerLife(start, owner, realm, entry)
    const started = new Promise<true>((resolve) => (life.#started = () => resolve(true)))
    const giveUp = () => {
      life.#reason = { kind: 'failed', error: asError(signal.reason) }
      life.#endNow()
    }
    signal.addEventListener('abort', giveUp, { once: true })
    const outcome = await Promise.race([started, life.exited])
    signal.removeEventListener('abort', giveUp)
    if (outcome === true) return life
    if (outcome.kind === 'failed') throw outcome.error
    throw goneError(start.name, 'started', 'its thread ended before it ran')
  }

  private constructor(start: RemoteStart, owner: Correspondent, realm: Realm, entry: URL) {
    const { port1, port2 } = new MessageChannel()
    this.#start = start
    this.#owner = owner
    this.#realm = realm
    this.#port = port1
    this.#outbox = new Outbox(port1, (message, error) => this.#refused(message, error))
    this.exited = new Promise((resolve) => (this.#resolveExit = resolve))
    try {
      this.#thread = this.#enter(port2, entry)
    } catch (error) {
      // The options cannot be cloned.
      port1.close()
      throw error
    }
    port1.on('message', (envelope: Envelope) => this.#receive(envelope))
    this.#thread.onSilence(() => this.#declareDead())
    void this.#thread.exited.then(({ code, error }) => this.#end(error ? { kind: 'failed', error } : { kind: 'exited', code }))
  }

  send(message: UserMessage): void {
    this.#uncredited++
    this.#outbox.post(message)
  }

  suspend(): void {
    this.#outbox.post(['suspend'])
  }

  resume(): void {
    this.#outbox.post(['resume'])
  }

  /** The flag, the message, the owner's way into native code; after the deadline the thread. */
  stop(deadline: number): void {
    if (this.#ended) return
    Atomics.store(this.#flag, 0, 1)
    this.#outbox.post(['stop'])
    this.#after(deadline, () => this.#endNow())
    this.#cancel()
  }

  /** Code of the owner's: whatever it throws, the actor ends by its deadline all the same. */
  #cancel(): void {
    const { name, cancel } = this.#start
    try {
      cancel?.()
    } catch (error) {
      process.emitWarning(`${name}: its cancel hook has thrown (${asError(error).message}); its deadline ends it`, 'ArbalestWarning')
    }
  }

  /** A thread that is shared is joined where it is there already. */
  #enter(port: MessagePort, entry: URL): WorkerThread {
    const { name, module, className, options, restarted, window, shutdown, worker, silence } = this.#start
    const start: WorkerStart = {
      port,
      name,
      module,
      className,
      options,
      restarted: restarted && packExit(restarted),
      flag: this.#flag.buffer,
      figures: this.#owner.figures,
      shutdown,
      creditEvery: Math.max(1, window >> 2)
    }
    const found = worker === undefined ? undefined : this.#realm.shared.get(worker)
    if (found?.open) {
      found.admit(start)
      return found
    }
    const thread = new WorkerThread(start, this.#realm, entry, { shared: worker, silence })
    if (worker !== undefined) this.#share(worker, thread)
    return thread
  }

  #share(name: string, thread: WorkerThread): void {
    const { shared } = this.#realm
    shared.set(name, thread)
    void thread.exited.then(() => {
      if (shared.get(name) === thread) shared.delete(name)
    })
  }

  #receive(envelope: Envelope): void {
    for (const message of this.#inbox.open(envelope)) {
      if (message[0] === 'answer') this.#owner.answer(message[1], { value: message[2] })
      else if (message[0] === 'error') this.#owner.answer(message[1], { error: unpackError(message[2]) })
      else if (message[0] === 'credit') this.#credit(message[1])
      else if (message[0] === 'started') this.#started()
      else if (message[0] === 'gone') {
        this.#reason ??= message[1] === null ? { kind: 'stopped' } : { kind: 'failed', error: asError(unpackError(message[1])) }
        this.#unread = message[2]
        this.#thread.dismiss()
        if (this.#start.worker !== undefined) this.#end(this.#reason)
      }
    }
  }

  #credit(count: number): void {
    this.#uncredited -= count
    this.#owner.credit(count)
  }

  /** Also the threads of others, where they share it. */
  #endNow(): void {
    this.#thread.terminate()
    this.#after(TERMINATION, () => {
      const { name } = this.#start
      const message = `${name}: its thread cannot be ended, it is in native code that does not come back; end the process`
      const error = new ArbalestError('DEADLINE_EXCEEDED', message, { data: { actor: name, deadline: TERMINATION } })
      this.#realm.publish({ event: 'unhealthy', actor: name, error })
      this.#end({ kind: 'failed', error })
    })
  }

  #declareDead(): void {
    const { name, silence, shutdown } = this.#start
    const message = `${name}: its thread has not answered for ${silence ?? 0} ms; let its turns end sooner or allow a longer silence`
    this.#reason ??= { kind: 'failed', error: new ArbalestError('DEADLINE_EXCEEDED', message, { data: { actor: name, silence } }) }
    this.stop(shutdown)
  }

  #after(milliseconds: number, action: () => void): void {
    this.#timers.add(this.#realm.clock.after(milliseconds, action))
  }

  #end(reason: ExitReason): void {
    if (this.#ended) return
    this.#ended = true
    // The thread may be gone before its last envelopes are read.
    for (let last = receiveMessageOnPort(this.#port); last; last = receiveMessageOnPort(this.#port)) this.#receive(last.message as Envelope)
    for (const cancel of this.#timers) cancel()
    this.#port.close()
    if (this.#unread) for (const method of this.#unread) this.#owner.lost(method, 'gone')
    else if (this.#uncredited > 0) this.#owner.lost('', 'gone', this.#uncredited)
    this.#resolveExit(this.#reason ?? reason)
  }

  #refused(message: Message, error: Error): void {
    if (message[0] !== 'ask' && message[0] !== 'tell') return
    this.#credit(1)
    if (message[0] === 'ask') this.#owner.answer(message[1], { error })
    else {
      this.#owner.lost(message[1], 'unpostable')
      process.emitWarning(`a message to ${this.#start.name} cannot be posted: ${error.message}`, 'ArbalestWarning')
    }
  }
}
