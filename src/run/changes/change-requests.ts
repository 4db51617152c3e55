import { ArbalestError } from '../../errors.js'
import type { RunControl } from '../../protocols/protocols.js'
import { deferred, type Deferred } from '../../runtime/promises.js'
import { checkedChange, type RunChange } from '../../schedules/interventions.js'

/** A change that a program has asked for, and its answer to come. */
export interface ChangeRequest {
  readonly change: RunChange
  readonly answer: Deferred<unknown>
}

/** The changes that programs ask of a run, in the order in which they were asked for. Each waits until it is taken while all learners rest. */
export class ChangeRequests implements RunControl {
  readonly #waiting: ChangeRequest[] = []
  readonly #listeners = new Set<() => void>()
  #paused = false
  /** How many of the waiting requests are made in this rest. */
  #due = 0
  #nextRest = 0
  /** Resolves once what was last handed over has become a request, or has its answer. */
  #handedOver: Promise<unknown> = Promise.resolve()
  #closed: ArbalestError | undefined

  get paused(): boolean {
    return this.#paused
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** The first round before which the learners may rest for a request: there is a round at least between two such rests. */
  get nextRest(): number {
    return this.#nextRest
  }

  /**
   * Asks for a change before the next round. Resolves with its answer. Rejects with INVALID_OPTION or UNKNOWN_NAME for a change that cannot be made, and
   * with ACTOR_GONE if the run ends before.
   */
  request(change: RunChange): Promise<unknown> {
    const request: ChangeRequest = { change: checkedChange(change), answer: deferred() }
    if (this.#closed) return Promise.reject(this.#closed)
    this.#waiting.push(request)
    this.#tell()
    // What was told has nobody who waits for the answer.
    request.answer.promise.catch(() => {})
    return request.answer.promise
  }

  /**
   * Hands a message over to the actor that makes a request of it, once the one before has become one or has its answer: the actors have a mailbox each, and would
   * ask in another order than the program did. Settles as the answer does.
   */
  inTurn(hand: () => Promise<unknown>): Promise<unknown> {
    const requested = deferred()
    const answer = this.#handedOver.then(() => {
      const end = this.watch(() => {
        end()
        requested.resolve()
      })
      return hand().finally(end)
    })
    this.#handedOver = Promise.race([requested.promise, answer.catch(() => {})])
    return answer
  }

  /** The learners rest until `resume`. */
  pause(): void {
    this.#paused = true
  }

  /** Lets the learners go on after a `pause`, once all is made that was asked for before; the next `pause` waits until they have trained a round. */
  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    const pause = this.#waiting.findIndex(({ change }) => change.kind === 'pause')
    this.#due = pause < 0 ? this.#waiting.length : pause
    this.#tell()
  }

  /** Calls `listener` for each request from now on, and at `resume`; returns the function that ends that. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The learners have come to rest before this round. */
  beginRest(round: number): void {
    this.#due = this.#waiting.length
    this.#nextRest = round + 1
  }

  /**
   * The next request that is made in this rest; undefined if there is none. What was asked for since the rest began is made while the run is paused; else it
   * waits for the next rest, so that the run goes on however much it is asked for.
   */
  take(): ChangeRequest | undefined {
    if (!this.isWaiting || (!this.#paused && this.#due <= 0)) return undefined
    this.#due--
    return this.#waiting.shift()
  }

  /** Resolves at the next request, at `resume`, or when the run is to end. */
  async next(stop: AbortSignal): Promise<void> {
    const woken = deferred()
    const end = this.watch(woken.resolve)
    const stopped = () => woken.resolve()
    stop.addEventListener('abort', stopped, { once: true })
    await woken.promise
    stop.removeEventListener('abort', stopped)
    end()
  }

  /** The run is over: all that was asked for rejects, and all that will be. */
  close(): void {
    this.#closed = new ArbalestError('ACTOR_GONE', 'the run has ended: it takes no more changes')
    this.#paused = false
    for (const { answer } of this.#waiting.splice(0)) answer.reject(this.#closed)
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
