import { ArbalestError } from '../errors.js'
import type { ActorClass, ExitReason } from './actor.js'
import { Cell, type Delivery } from './cell.js'
import type { Correspondent, Life, UserMessage } from './life.js'
import type { Realm } from './realm.js'

/** What a life in this thread is made of. */
export interface LocalStart {
  readonly name: string
  readonly load: () => ActorClass | Promise<ActorClass>
  readonly options: unknown
  readonly restarted?: ExitReason | undefined
  readonly shutdown: number
}

/** An actor in this thread. Arguments and answers are passed as they are, not copied. */
export class LocalLife implements Life {
  readonly exited: Promise<ExitReason>
  readonly #name: string
  readonly #cell: Cell
  readonly #owner: Correspondent
  readonly #realm: Realm
  readonly #taken: () => void
  readonly #lost: (method: string) => void
  #resolveExit!: (reason: ExitReason) => void

  /** Rejects with what the actor threw, or with the signal's reason; a life that comes to be after that is stopped. */
  static async start(
    { name, load, options, restarted, shutdown }: LocalStart,
    owner: Correspondent,
    realm: Realm,
    signal: AbortSignal
  ): Promise<LocalLife> {
    const making = Promise.resolve(load()).then((actorClass) =>
      Cell.start(actorClass, options, { name, realm, figures: owner.figures, shutdown }, restarted)
    )
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    )
    try {
      return new LocalLife(name, await Promise.race([making, aborted]), owner, realm)
    } catch (error) {
      making.then(
        (cell) => cell.stop(),
        () => {}
      )
      throw error
    }
  }

  private constructor(name: string, cell: Cell, owner: Correspondent, realm: Realm) {
    this.#name = name
    this.#cell = cell
    this.#owner = owner
    this.#realm = realm
    this.#taken = () => owner.credit(1)
    this.#lost = (method) => owner.lost(method, 'gone')
    this.exited = new Promise((resolve) => (this.#resolveExit = resolve))
    void cell.exited.then(this.#resolveExit)
  }

  send(message: UserMessage): void {
    const delivery = this.#delivery(message)
    const { intercept } = this.#realm
    if (!intercept) return this.#cell.deliver(delivery)
    intercept(this.#name, delivery.method, {
      deliver: () => this.#cell.deliver(delivery),
      drop: () => this.#drop(delivery),
      crash: (error) => {
        this.#drop(delivery)
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
   * The message in hand may take the deadline, and the hook as long again. What the children take in between is limited by deadlines of their own:
   * as long as a thread of theirs runs, this actor has not ended.
   */
  async #limit(deadline: number): Promise<void> {
    const { rested, childless } = this.#cell
    const inTime = await this.#within(deadline, rested.reached)
    if (!inTime) this.#cell.giveUp()
    await childless.reached
    if (inTime && (await this.#within(deadline, this.exited))) return
    const message = `${this.#name}: did not stop within ${deadline} ms and is left behind; let its messages and its stopping hook end sooner`
    const error = new ArbalestError('DEADLINE_EXCEEDED', message, { data: { actor: this.#name, deadline } })
    this.#resolveExit({ kind: 'failed', error })
  }

  #within(deadline: number, reached: Promise<unknown>): Promise<boolean> {
    return new Promise((resolve) => {
      const disarm = this.#realm.clock.after(deadline, () => resolve(false))
      void reached.then(() => {
        disarm()
        resolve(true)
      })
    })
  }

  #delivery(message: UserMessage): Delivery {
    const taken = this.#taken
    if (message[0] === 'tell') {
      const [, method, args] = message
      return { method, args, reply: undefined, taken, lost: this.#lost }
    }
    const [, id, method, args] = message
    return { method, args, reply: (outcome) => this.#owner.answer(id, outcome), taken, lost: undefined }
  }

  #drop({ method, reply }: Delivery): void {
    this.#owner.credit(1)
    if (!reply) this.#owner.lost(method, 'dropped')
  }
}
