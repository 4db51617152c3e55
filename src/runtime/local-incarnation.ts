import { ArbalestError } from '../errors.js'
import type { ActorClass } from './actor.js'
import { ActorCell, type Envelope } from './actor-cell.js'
import type { Environment } from './environment.js'
import type { ExitReason } from './exit-reason.js'
import type { Incarnation, IncarnationOwner, UserMessage } from './incarnation.js'
import { deferred } from './promises.js'

export interface LocalStart {
  readonly name: string
  readonly load: () => ActorClass | Promise<ActorClass>
  readonly options: unknown
  readonly restarted?: ExitReason | undefined
  readonly shutdown: number
}

/** An incarnation in this thread. Arguments and answers are passed by reference, not copied. */
export class LocalIncarnation implements Incarnation {
  readonly #name: string
  readonly #cell: ActorCell
  readonly #owner: IncarnationOwner
  readonly #environment: Environment
  readonly #onTaken: () => void
  readonly #onLost: (method: string) => void
  readonly #exited = deferred<ExitReason>()

  /** Rejects with the actor's error or with the signal's reason. An actor that starts after the signal is stopped at once. */
  static async start(
    { name, load, options, restarted, shutdown }: LocalStart,
    owner: IncarnationOwner,
    environment: Environment,
    signal: AbortSignal
  ): Promise<LocalIncarnation> {
    const starting = Promise.resolve(load()).then((actorClass) =>
      ActorCell.start(actorClass, options, { name, environment, counters: owner.counters, shutdown }, restarted)
    )
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    )
    try {
      return new LocalIncarnation(name, await Promise.race([starting, aborted]), owner, environment)
    } catch (error) {
      starting.then(
        (cell) => cell.stop(),
        () => {}
      )
      throw error
    }
  }

  private constructor(name: string, cell: ActorCell, owner: IncarnationOwner, environment: Environment) {
    this.#name = name
    this.#cell = cell
    this.#owner = owner
    this.#environment = environment
    this.#onTaken = () => owner.credit(1)
    this.#onLost = (method) => owner.lost(method, 'actorGone')
    void cell.exited.then(this.#exited.resolve)
  }

  get exited(): Promise<ExitReason> {
    return this.#exited.promise
  }

  get isEnding(): boolean {
    return this.#cell.isEnding
  }

  send(message: UserMessage): void {
    const envelope = this.#envelope(message)
    const { intercept } = this.#environment
    if (!intercept) return this.#cell.deliver(envelope)
    intercept(this.#name, envelope.method, {
      deliver: () => this.#cell.deliver(envelope),
      drop: () => this.#drop(envelope),
      crash: (error) => {
        this.#drop(envelope)
        this.#cell.fail(error)
      }
    })
  }

  suspend(): void {
    this.#cell.suspend()
  }

  resume(): void {
    this.#cell.resume()
  }

  stop(deadline: number): void {
    this.#cell.stop()
    void this.#limit(deadline)
  }

  /**
   * Limits the current message and then the `stopping` hook to the deadline each. Between them the children stop within deadlines of their
   * own: while a thread of theirs runs, this actor has not ended.
   */
  async #limit(deadline: number): Promise<void> {
    const { idle, childless } = this.#cell
    const inTime = await this.#within(deadline, idle)
    if (!inTime) this.#cell.abandonMessage()
    await childless
    if (inTime && (await this.#within(deadline, this.exited))) return
    const message = `${this.#name}: did not stop within ${deadline} ms and is left behind; let its messages and its stopping hook end sooner`
    const error = new ArbalestError('DEADLINE_EXCEEDED', message, { data: { actor: this.#name, deadline } })
    this.#exited.resolve({ kind: 'failed', error })
  }

  #within(deadline: number, event: Promise<unknown>): Promise<boolean> {
    return new Promise((resolve) => {
      const disarm = this.#environment.clock.after(deadline, () => resolve(false))
      void event.then(() => {
        disarm()
        resolve(true)
      })
    })
  }

  #envelope(message: UserMessage): Envelope {
    const onTaken = this.#onTaken
    if (message[0] === 'tell') {
      const [, method, args] = message
      return { method, args, reply: undefined, onTaken, onLost: this.#onLost }
    }
    const [, id, method, args] = message
    return { method, args, reply: (outcome) => this.#owner.answer(id, outcome), onTaken, onLost: undefined }
  }

  #drop({ method, reply }: Envelope): void {
    this.#owner.credit(1)
    if (!reply) this.#owner.lost(method, 'dropped')
  }
}
