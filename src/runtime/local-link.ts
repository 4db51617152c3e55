import { ArbalestError } from '../errors.js'
import type { ActorClass, ExitReason } from './actor.js'
import { Cell } from './cell.js'
import type { PendingAsks } from './pending-asks.js'
import type { Link } from './ref.js'

/** The way to an actor in this thread. Arguments and answers are passed as they are, not copied. */
export class LocalLink implements Link {
  readonly exited: Promise<ExitReason>
  readonly #name: string
  readonly #cell: Cell
  readonly #pending: PendingAsks
  #resolveExit!: (reason: ExitReason) => void

  static async start(name: string, actorClass: ActorClass, options: unknown, pending: PendingAsks): Promise<LocalLink> {
    return new LocalLink(name, await Cell.start(name, actorClass, options), pending)
  }

  private constructor(name: string, cell: Cell, pending: PendingAsks) {
    this.#name = name
    this.#cell = cell
    this.#pending = pending
    this.exited = new Promise((resolve) => (this.#resolveExit = resolve))
    void cell.exited.then((reason) => this.#exit(reason))
  }

  ask(id: number, method: string, args: readonly unknown[]): void {
    this.#cell.deliver({ method, args, reply: (outcome) => this.#pending.settle(id, outcome) })
  }

  tell(method: string, args: readonly unknown[]): void {
    this.#cell.deliver({ method, args })
  }

  async stop(deadline: number): Promise<ExitReason> {
    this.#cell.stop()
    const timer = setTimeout(() => {
      const message = `${this.#name}: did not stop within ${deadline} ms and is left behind; let its messages and its stopping hook end sooner`
      this.#exit({ kind: 'failed', error: new ArbalestError('DEADLINE_EXCEEDED', message, { data: { actor: this.#name, deadline } }) })
    }, deadline)
    const reason = await this.exited
    clearTimeout(timer)
    return reason
  }

  #exit(reason: ExitReason): void {
    this.#pending.close(reason)
    this.#resolveExit(reason)
  }
}
