import { isDeepStrictEqual } from 'node:util'
import type { MembershipRecord, Succession } from '../../actors/learner-slot.js'
import type { Departure } from '../../engine/contract.js'
import { codeOf, invalidOption } from '../../errors.js'
import type { IntervenedEvent } from '../../observe/events.js'
import {
  isMembershipChange,
  openDeaths,
  type Intervention,
  type OfKind,
  type RunChange,
  type RunPlace
} from '../../schedules/interventions.js'

export interface InterventionRecordOptions {
  /** Those made before the run was resumed. */
  readonly made?: readonly Intervention[]
  /** Those of a recorded run, to be made again. */
  readonly recorded?: readonly Intervention[]
  readonly emit: (event: IntervenedEvent) => void
}

/** The interventions of a run by their rounds, deaths of learners among them: those that were made, and those of a recorded run that are still to be made. */
export class InterventionRecord implements MembershipRecord {
  readonly #emit: (event: IntervenedEvent) => void
  readonly #made: Intervention[]
  /** All of the recorded run. */
  readonly #recorded: readonly Intervention[]
  /** Those of the recorded run that are still to be made. */
  readonly #ahead: Intervention[]
  /** Deaths of the recorded run that are under way. */
  readonly #dying: OfKind<'death'>[] = []

  /** Throws INVALID_OPTION if the recorded ones are not those of the run that is resumed. */
  constructor({ made = [], recorded = [], emit }: InterventionRecordOptions) {
    const changes = made.filter((each) => !isMembershipChange(each))
    const before = recorded.filter((each) => !isMembershipChange(each)).slice(0, changes.length)
    if (recorded.length > 0 && !isDeepStrictEqual(before, changes.slice(0, before.length)))
      throw invalidOption('interventions', `${recorded.length} of a recorded run`, 'the checkpoint is of a run with others: leave them out')
    this.#emit = emit
    this.#made = [...made]
    this.#recorded = recorded
    let left = before.length
    this.#ahead = recorded
      .filter((each) => (isMembershipChange(each) ? !made.some((past) => isDeepStrictEqual(past, each)) : left-- <= 0))
      .toSorted((a, b) => a.round - b.round)
  }

  /** All that were made, those before the run was resumed among them. */
  get made(): readonly Intervention[] {
    return this.#made
  }

  /** The same, and those of the recorded run that are still to be made. */
  get all(): readonly Intervention[] {
    return [...this.#made, ...this.#ahead]
  }

  /** Whether the recorded run, where this one is resumed, has no learner in this place before a later round. */
  isAwaiting(place: number): boolean {
    const isAwaited = (death: OfKind<'death'>) => !death.vacant && this.#recorded.some((each) => isDeepStrictEqual(each, death))
    return openDeaths(this.#made).some((death) => death.place === place && isAwaited(death))
  }

  /** A run that goes on before this round has another learner in each place, but for those that the recorded run leaves vacant. */
  resumeAt(from: RunPlace, learners: number): void {
    for (const { place } of openDeaths(this.#made)) if (place < learners && !this.isAwaiting(place)) this.joined(place, from)
  }

  planned(place: number): Departure | undefined {
    return this.#ahead.find((each): each is OfKind<'death'> => each.kind === 'death' && each.place === place)
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

  /** A change was made before this round, or a learner's method that it called has thrown this error. */
  changed(change: RunChange, { round, iteration }: RunPlace, error?: Error): void {
    this.#keep({ round, iteration, ...change }, error)
  }

  /** Whether the recorded run has something that is to be made before this round. */
  isDue(round: number): boolean {
    return (this.#ahead[0]?.round ?? Infinity) <= round
  }

  /** The next round before which the learners must rest for a recorded change. */
  restBefore(round: number): number {
    return this.#ahead.find((each) => each.round > round)?.round ?? Infinity
  }

  /** The next of the recorded run that is to be made before this round; undefined if there is none. A death is under way until its learner has died. */
  takeDue(round: number): Intervention | undefined {
    if (!this.isDue(round)) return undefined
    const next = this.#ahead.shift()!
    if (next.kind === 'death') this.#dying.push(next)
    return next
  }

  /** The death of the recorded run in this place and round, which may come before the learners rest for it. */
  #expectedDeath(place: number, round: number): OfKind<'death'> | undefined {
    const isIt = (each: Intervention): each is OfKind<'death'> => each.kind === 'death' && each.place === place && each.round === round
    for (const list of [this.#dying, this.#ahead] as Intervention[][]) {
      const found = list.find(isIt)
      if (found) list.splice(list.indexOf(found), 1)
      if (found) return found
    }
    return undefined
  }

  /** A death may be of an earlier round than the last change. */
  #keep(intervention: Intervention, error?: Error): void {
    const later = this.#made.findIndex(({ round }) => round > intervention.round)
    this.#made.splice(later < 0 ? this.#made.length : later, 0, intervention)
    const code = codeOf(error)
    this.#emit({ event: 'intervened', intervention, ...(error && { error: { code, message: error.message } }) })
  }
}
