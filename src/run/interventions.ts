import { isDeepStrictEqual } from 'node:util'
import { ArbalestError, invalidOption } from '../errors.js'
import type { IntervenedEvent } from '../observe/events.js'
import { asError } from '../runtime/errors-across-threads.js'
import { deferred, type Deferred } from '../runtime/promises.js'
import type { MembershipRecord, Succession } from '../actors/learner-slot.js'
import type { Departure } from '../engine/contract.js'
import {
  checkedChange,
  isMembershipChange,
  openDeaths,
  type Intervention,
  type MembershipChange,
  type OfKind,
  type RunChange,
  type RunPlace
} from '../schedules/interventions.js'

/** What came of a change: its answer, which may come later than the learners go on, or the error of a learner's method. */
export type ChangeOutcome = { readonly answer: unknown } | { readonly error: Error }

/** Makes a change while all learners rest, or lets a change of membership of the recorded run happen. Throws for one that is refused: then nothing has changed. */
export type MakeChange = (change: RunChange | MembershipChange, place: RunPlace) => Promise<ChangeOutcome>

export interface InterventionsOptions {
  /** Those made before the run was resumed. */
  readonly made?: readonly Intervention[]
  /** Those of a recorded run, to be made again. */
  readonly recorded?: readonly Intervention[]
  readonly emit: (event: IntervenedEvent) => void
  /** Aborted when the run is to end: it waits for nothing then. */
  readonly stop: AbortSignal
}

/** Changes that only look at a run, or hold it. */
const LOOKS: readonly Intervention['kind'][] = ['pause', 'measure', 'save', 'model']

interface Request {
  readonly change: RunChange
  readonly answer: Deferred<unknown>
}

/**
 * What programs change of a run while it trains, and ask of it. All of it happens while all learners rest before a round, in the order in which it was
 * asked for, and is recorded with that round, as is the death of a learner with the round that it has not ended: the list of a run, given to another,
 * repeats it.
 */
export class Interventions implements MembershipRecord {
  readonly #options: InterventionsOptions
  readonly #made: Intervention[]
  readonly #recorded: Intervention[]
  /** Deaths of the recorded run that are under way. */
  readonly #dying: OfKind<'death'>[] = []
  readonly #requests: Request[] = []
  #onRequest: (() => void) | undefined
  #paused = false
  /** How many of the requests are made in this rest. */
  #due = 0
  #nextRest = 0
  #closed: ArbalestError | undefined

  /** Throws INVALID_OPTION if the recorded ones are not those of the run that is resumed. */
  constructor(options: InterventionsOptions) {
    const { made = [], recorded = [] } = options
    const changes = made.filter((each) => !isMembershipChange(each))
    const before = recorded.filter((each) => !isMembershipChange(each)).slice(0, changes.length)
    if (recorded.length > 0 && !isDeepStrictEqual(before, changes.slice(0, before.length)))
      throw invalidOption('interventions', `${recorded.length} of a recorded run`, 'the checkpoint is of a run with others: leave them out')
    this.#options = options
    this.#made = [...made]
    let left = before.length
    this.#recorded = recorded
      .filter((each) => (isMembershipChange(each) ? !made.some((past) => isDeepStrictEqual(past, each)) : left-- <= 0))
      .toSorted((a, b) => a.round - b.round)
  }

  /** Whether the recorded run, where this one is resumed, has no learner in this place before a later round. */
  isAwaiting(place: number): boolean {
    const { recorded = [] } = this.#options
    const isAwaited = (death: OfKind<'death'>) => !death.vacant && recorded.some((each) => isDeepStrictEqual(each, death))
    return openDeaths(this.#made).some((death) => death.place === place && isAwaited(death))
  }

  /** A run that goes on before this round has another learner in each place, but for those that the recorded run leaves vacant. */
  resumeAt(from: RunPlace, learners: number): void {
    for (const { place } of openDeaths(this.#made)) if (place < learners && !this.isAwaiting(place)) this.joined(place, from)
  }

  died(place: number, { round, iteration, iterations, until, brought }: Departure, succession: 'now' | 'none'): Succession {
    const expected = this.#expectedDeath(place, round)
    const vacant = succession === 'none' && { vacant: true }
    this.#keep(expected ?? { round, iteration, kind: 'death', place, iterations, until, brought, ...vacant })
    return !expected ? succession : expected.vacant ? 'none' : 'later'
  }

  joined(place: number, { round, iteration }: RunPlace): void {
    this.#keep({ round, iteration, kind: 'join', place })
  }

  /** All that were made, those before the run was resumed among them. */
  get made(): readonly Intervention[] {
    return this.#made
  }

  /** The same, and those of the recorded run that are still to be made. */
  get all(): readonly Intervention[] {
    return [...this.#made, ...this.#recorded]
  }

  /** Whether the learners rest until `resume`. */
  get paused(): boolean {
    return this.#paused
  }

  get isWaiting(): boolean {
    return this.#requests.length > 0
  }

  /**
   * Asks for a change before the next round. Resolves with its answer. Rejects with INVALID_OPTION or UNKNOWN_NAME for a change that cannot be made, and
   * with ACTOR_GONE if the run ends before.
   */
  request(change: RunChange): Promise<unknown> {
    const request: Request = { change: checkedChange(change), answer: deferred() }
    if (this.#closed) return Promise.reject(this.#closed)
    this.#requests.push(request)
    this.#onRequest?.()
    // What was told has nobody who waits for the answer.
    request.answer.promise.catch(() => {})
    return request.answer.promise
  }

  /** Lets the learners go on after a `pause`, once all is made that was asked for before; the next `pause` waits until they have trained a round. */
  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    const pause = this.#requests.findIndex(({ change }) => change.kind === 'pause')
    this.#due = pause < 0 ? this.#requests.length : pause
    this.#onRequest?.()
  }

  /** Calls `listener` for each request from now on; returns the function that ends that. */
  watch(listener: () => void): () => void {
    this.#onRequest = listener
    return () => (this.#onRequest = undefined)
  }

  /** Whether something is to be made before this round. */
  isDue(round: number): boolean {
    return this.#paused || this.isWaiting || (this.#recorded[0]?.round ?? Infinity) <= round
  }

  /** The first round before which the learners may rest for a request: there is a round at least between two such rests. */
  get nextRest(): number {
    return this.#nextRest
  }

  /** The next round before which the learners must rest for a recorded change. */
  restBefore(round: number): number {
    return this.#recorded.find((each) => each.round > round)?.round ?? Infinity
  }

  /**
   * Makes all that is due before this round, and waits while the run is paused. The learners rest. What is asked for meanwhile is made while the run is
   * paused; else it waits for the next rest, so that the run goes on however much it is asked for.
   */
  async make(place: RunPlace, make: MakeChange): Promise<void> {
    const { stop } = this.#options
    this.#due = this.#requests.length
    this.#nextRest = place.round + 1
    while (!stop.aborted) {
      const recorded = this.#recorded[0]
      if (recorded && recorded.round <= place.round) {
        this.#recorded.shift()
        await this.#repeat(recorded, place, make)
        continue
      }
      if (this.#requests.length > 0 && (this.#paused || this.#due > 0)) {
        this.#due--
        await this.#answer(this.#requests.shift()!, place, make)
      } else if (this.#paused) await this.#nextRequest()
      else return
    }
  }

  /** The run is over: all that was asked for rejects, and all that will be. */
  close(cause?: unknown): void {
    const message = 'the run has ended: it takes no more changes'
    this.#closed = new ArbalestError('ACTOR_GONE', message, cause === undefined ? {} : { cause })
    this.#paused = false
    for (const { answer } of this.#requests.splice(0)) answer.reject(this.#closed)
  }

  async #answer({ change, answer }: Request, place: RunPlace, make: MakeChange): Promise<void> {
    try {
      const outcome = await this.#perform(change, place, make)
      if ('error' in outcome) answer.reject(outcome.error)
      else answer.resolve(outcome.answer)
    } catch (error) {
      answer.reject(asError(error))
    }
  }

  /** What only looked at the recorded run, or held it, needs no repetition. */
  async #repeat(recorded: Intervention, place: RunPlace, make: MakeChange): Promise<void> {
    if (isMembershipChange(recorded)) {
      if (recorded.kind === 'death') this.#dying.push(recorded)
      await make(recorded, place)
      if (recorded.kind === 'join') this.#keep(recorded)
      return
    }
    const { round: _round, iteration: _iteration, ...change } = recorded
    const looks = LOOKS.includes(change.kind)
    if (looks) this.#record(change, place, undefined)
    else await this.#perform(change, place, make)
  }

  /** The death of the recorded run in this place and round, which may come before the learners rest for it. */
  #expectedDeath(place: number, round: number): OfKind<'death'> | undefined {
    const isIt = (each: Intervention): each is OfKind<'death'> => each.kind === 'death' && each.place === place && each.round === round
    for (const list of [this.#dying, this.#recorded] as Intervention[][]) {
      const found = list.find(isIt)
      if (found) list.splice(list.indexOf(found), 1)
      if (found) return found
    }
    return undefined
  }

  async #perform(change: RunChange, place: RunPlace, make: MakeChange): Promise<ChangeOutcome> {
    if (change.kind === 'pause') this.#paused = true
    const outcome = await make(change, place)
    this.#record(change, place, 'error' in outcome ? outcome.error : undefined)
    return outcome
  }

  #record(change: RunChange, { round, iteration }: RunPlace, error: Error | undefined): void {
    this.#keep({ round, iteration, ...change }, error)
  }

  /** A death may be of an earlier round than the last change. */
  #keep(intervention: Intervention, error?: Error): void {
    const later = this.#made.findIndex(({ round }) => round > intervention.round)
    this.#made.splice(later < 0 ? this.#made.length : later, 0, intervention)
    const code = error instanceof ArbalestError ? error.code : 'INTERNAL'
    this.#options.emit({ event: 'intervened', intervention, ...(error && { error: { code, message: error.message } }) })
  }

  /** Resolves at the next request, at `resume`, or when the run is to end. */
  async #nextRequest(): Promise<void> {
    const { stop } = this.#options
    const woken = deferred()
    const end = this.watch(woken.resolve)
    const stopped = () => woken.resolve()
    stop.addEventListener('abort', stopped, { once: true })
    await woken.promise
    stop.removeEventListener('abort', stopped)
    end()
  }
}
