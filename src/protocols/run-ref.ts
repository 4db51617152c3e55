import type { Asks, Tells } from '../runtime/actor.js'
import { methodProxy } from '../runtime/actor-ref.js'
import { REAL_CLOCK } from '../runtime/clock.js'
import { PendingAsks, type AskOptions } from '../runtime/pending-asks.js'

/** The actors of a run that a program can talk to, and the run itself. */
export type RunActorName = 'run' | 'synchroniser' | 'supervisor' | 'learner' | 'evaluator' | 'checkpoints' | 'feeder'

/** A message to an actor of a run: plain data, the same from any thread and process. */
export interface RunCall {
  readonly actor: RunActorName
  /** Of a learner. */
  readonly place?: number
  readonly method: string
  readonly args: readonly unknown[]
  /** The sender does not wait for an answer. */
  readonly told: boolean
}

/** Delivers a call. The promise settles even if the run ends or fails first. */
export type SendCall = (call: RunCall) => Promise<unknown>

/** The address of an actor of a run. It exists before the actor does: asks wait until it is there. */
export class RunRef<A extends object> {
  readonly name: string
  /**
   * `ref.ask.method(...)`: the answer, or the error that the actor threw, or ACTOR_GONE if the run ends before. Has no deadline: what takes effect at a
   * round may have to wait for it.
   */
  readonly ask: Asks<A>
  /** `ref.tell.method(...)`: what comes of it is seen in the events of the job alone. */
  readonly tell: Tells<A>
  readonly #send: (method: string, args: readonly unknown[], told: boolean) => Promise<unknown>
  readonly #pending: PendingAsks

  constructor(name: string, { actor, place }: Pick<RunCall, 'actor' | 'place'>, send: SendCall) {
    this.name = name
    // Literals without a spread: V8 makes a hidden class anew for each object that continues a spread one, which costs more than the ask.
    this.#send =
      place === undefined
        ? (method, args, told) => send({ actor, method, args, told })
        : (method, args, told) => send({ actor, place, method, args, told })
    this.#pending = new PendingAsks(name, REAL_CLOCK)
    this.ask = methodProxy((method, args) => this.#send(method, args, false)) as Asks<A>
    this.tell = methodProxy((method, args) => void this.#send(method, args, true).catch(() => {})) as Tells<A>
  }

  /** `ask` with a deadline in milliseconds, or a signal. */
  askWith(options: AskOptions): Asks<A> {
    return methodProxy((method, args) => this.#limited(method, args, { deadline: Infinity, ...options })) as Asks<A>
  }

  #limited(method: string, args: readonly unknown[], options: AskOptions): Promise<unknown> {
    return this.#pending.open(method, options, (id) => {
      void this.#send(method, args, false).then(
        (value) => this.#pending.settle(id, { value }),
        (error: unknown) => this.#pending.settle(id, { error })
      )
    })
  }
}
