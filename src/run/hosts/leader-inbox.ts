import { ArbalestError } from '../../errors.js'
import type { HostMailbox } from '../../hosts/host-mailbox.js'
import { deferred, type Deferred } from '../../runtime/promises.js'
import { hostErrorOf } from './leader.js'
import type { Order, Report } from './orders.js'

/** Seconds after which a host that has failed no longer waits for the first host's answer. */
const ANSWER_SECONDS = 5

/** An order to go on or to end: the order to fail is an error of the inbox. */
export type GivenOrder = Exclude<Order, { order: 'fail' }>

/** What becomes of a message that has arrived: it waits for its turn, or undefined where it has been dealt with. */
type Arrived<Message, Queued> = (message: Message) => Queued | undefined | Promise<Queued | undefined>

/** What the first host of a run sends to this one, in its order, until it ends the run. */
export class LeaderInbox<Message extends object, Queued extends Message = Message> {
  readonly #mailbox: HostMailbox
  readonly #arrived: Arrived<Message, Queued>
  readonly #queue: Queued[] = []
  #next: Deferred<void> = deferred()
  #failure: { readonly error: unknown } | undefined
  #isOver = false
  readonly #ended = deferred()
  readonly #failed = deferred<never>()

  /** `arrived` is called for one message at a time, so that it may take() others that belong to it. */
  constructor(mailbox: HostMailbox, arrived: Arrived<Message, Queued>) {
    this.#mailbox = mailbox
    this.#arrived = arrived
    // It is awaited only while this host does something else than waiting for the next one.
    this.#failed.promise.catch(() => {})
    void this.#listen()
  }

  /** Resolves once nothing more comes: the first host has ended the run, or is lost. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** Rejects with the failure as soon as there is one. */
  get failed(): Promise<never> {
    return this.#failed.promise
  }

  /** Why there is no next one, unless the run has ended well: the error with which the first host has ended it, its loss, or what has not been dealt with here. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure
  }

  /** The next one. Throws the error with which the first host ends the run, HOST_LOST, and what `arrived` has thrown. */
  async next(): Promise<Queued> {
    for (;;) {
      const message = this.#queue.shift()
      if (message) return message
      if (this.#failure) throw this.#failure.error
      await this.#next.promise
    }
  }

  /** For `arrived`: what belongs to its message and comes behind it. Throws the error with which the first host ends the run instead, and HOST_LOST. */
  async take(): Promise<unknown> {
    const message = (await this.#mailbox.receive(0)) as object
    if (!isFailure(message)) return message
    this.#isOver = true
    throw new ArbalestError(message.error.code, message.error.message)
  }

  /** Tells why this host cannot go on, and waits until the first one has ended the run. Never rejects. */
  async fail(error: unknown): Promise<void> {
    if (this.#isOver) return
    try {
      this.#mailbox.send(0, { report: 'failed', error: hostErrorOf(error) } satisfies Report)
      const late = setTimeout(() => this.#ended.resolve(), 1000 * ANSWER_SECONDS)
      await this.#ended.promise
      clearTimeout(late)
    } catch {
      // The first host is lost: it ends the run by itself.
    }
  }

  async #listen(): Promise<void> {
    try {
      for (let ends = false; !ends && !this.#isOver;) {
        const message = (await this.take()) as Message
        ends = 'order' in message && message.order === 'end'
        await this.#queueUp(message)
      }
    } catch (error) {
      this.#fail(error)
    }
    this.#isOver = true
    this.#ended.resolve()
  }

  /** What fails here is not the end of the run: the first host has yet to be told, and to end it. */
  async #queueUp(message: Message): Promise<void> {
    if (this.#failure) return
    try {
      const queued = await this.#arrived(message)
      if (queued) this.#queue.push(queued)
      this.#wake()
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    this.#failure = { error }
    this.#failed.reject(error)
    this.#wake()
  }

  #wake(): void {
    this.#next.resolve()
    this.#next = deferred()
  }
}

function isFailure(message: object): message is Extract<Order, { order: 'fail' }> {
  return 'order' in message && message.order === 'fail'
}
