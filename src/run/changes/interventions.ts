import type { IntervenedEvent } from '../../observe/events.js'
import { asError } from '../../runtime/errors-across-threads.js'
import { deferred } from '../../runtime/promises.js'
import {
  isMembershipChange,
  type Intervention,
  type MembershipChange,
  type RunChange,
  type RunPlace
} from '../../schedules/interventions.js'
import { ChangeRequests, type ChangeRequest } from './change-requests.js'
import { InterventionRecord } from './intervention-record.js'

/** What came of a change: its answer, which may come later than the learners go on, or the error of a learner's method. */
export type ChangeOutcome = { readonly answer: unknown } | { readonly error: Error }

/** Makes a change while all learners rest, or lets a loss of the recorded run happen. Throws for one that is refused: then nothing has changed. */
export type MakeChange = (change: RunChange | MembershipChange, place: RunPlace, isRepeated: boolean) => Promise<ChangeOutcome>

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

/**
 * What programs change of a run while it trains, and ask of it. All of it happens while all learners rest before a round, in the order in which it was
 * asked for, and is recorded with that round, as is the death of a learner with the round that it has not ended: the list of a run, given to another,
 * repeats it.
 */
export class Interventions {
  readonly requests = new ChangeRequests()
  readonly record: InterventionRecord
  readonly #stop: AbortSignal

  /** Throws INVALID_OPTION if the recorded ones are not those of the run that is resumed. */
  constructor({ stop, ...about }: InterventionsOptions) {
    this.record = new InterventionRecord(about)
    this.#stop = stop
  }

  /** Whether something is to be made before this round. */
  isDue(round: number): boolean {
    return this.requests.paused || this.requests.isWaiting || this.record.isDue(round)
  }

  /** Makes all that is due before this round, and waits while the run is paused. The learners rest. */
  async make(place: RunPlace, make: MakeChange): Promise<void> {
    this.requests.beginRest(place.round)
    while (!this.#stop.aborted) {
      const recorded = this.record.takeDue(place.round)
      const request = recorded ? undefined : this.requests.take()
      if (recorded) await this.#repeat(recorded, place, make)
      else if (request) await this.#answer(request, place, make)
      else if (this.requests.paused) await this.requests.next(this.#stop)
      else return
    }
  }

  /**
   * Waits for what the user's own function does while all learners rest, and makes meanwhile what is asked for: the function may wait for its own requests, for
   * which the run would wait otherwise. Settles as `work` does.
   */
  async makeDuring<Result>(work: Promise<Result>, placeOf: () => Promise<RunPlace>, make: MakeChange): Promise<Result> {
    const over = new AbortController()
    let woken = deferred()
    const endWatch = this.requests.watch(() => woken.resolve())
    const end = () => {
      over.abort()
      woken.resolve()
    }
    work.then(end, end)
    try {
      while (!over.signal.aborted && !this.#stop.aborted) {
        woken = deferred()
        if (this.requests.isWaiting) await this.#makeWaiting(await placeOf(), make)
        else await woken.promise
      }
    } finally {
      endWatch()
    }
    return work
  }

  async #makeWaiting(place: RunPlace, make: MakeChange): Promise<void> {
    this.requests.beginRest(place.round)
    for (let request = this.requests.take(); request; request = this.requests.take()) await this.#answer(request, place, make)
  }

  /** The run is over: it takes no more changes. */
  close(): void {
    this.requests.close()
  }

  async #answer({ change, answer }: ChangeRequest, place: RunPlace, make: MakeChange): Promise<void> {
    try {
      const outcome = await this.#perform(change, place, make, false)
      if ('error' in outcome) answer.reject(outcome.error)
      else answer.resolve(outcome.answer)
    } catch (error) {
      answer.reject(asError(error))
    }
  }

  /** What only looked at the recorded run, or held it, needs no repetition. */
  async #repeat(recorded: Intervention, place: RunPlace, make: MakeChange): Promise<void> {
    if (isMembershipChange(recorded)) {
      await make(recorded, place, true)
      if (recorded.kind === 'join') this.record.joined(recorded.place, recorded)
      return
    }
    const { round: _round, iteration: _iteration, ...change } = recorded
    if (LOOKS.includes(change.kind)) this.record.changed(change, place)
    else await this.#perform(change, place, make, true)
  }

  async #perform(change: RunChange, place: RunPlace, make: MakeChange, isRepeated: boolean): Promise<ChangeOutcome> {
    if (change.kind === 'pause') this.requests.pause()
    const outcome = await make(change, place, isRepeated)
    this.record.changed(change, place, 'error' in outcome ? outcome.error : undefined)
    return outcome
  }
}
