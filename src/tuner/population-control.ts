import type { Supervisor } from '../actors/supervisor.js'
import type { GroupStatus } from '../engine/contract.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import type { PopulationEvent } from '../observe/events.js'
import { changeAfter, learnersAt, type PopulationSchedule } from '../schedules/population.js'

/** What a control of the population tells of a change; the run adds how far it is. */
export type PopulationDecision = Pick<PopulationEvent, 'action' | 'from' | 'to' | 'reason' | 'figures'>

export interface PopulationProgress extends GroupStatus {
  /** Of training so far. */
  readonly seconds: number
  /** Samples that the run has still to hand out, and seconds that it may still take. */
  readonly left: { readonly samples: number; readonly seconds: number }
}

/** Says how many learners train, and changes their number while all of them rest. */
export interface PopulationControl {
  /** Up to now, and beyond as far as it is known. */
  readonly schedule: PopulationSchedule
  /** Milliseconds between two calls of `watch`; Infinity where it need not be called. */
  readonly watchEvery: number
  /** The next round before which the learners are to rest for a change. */
  restBefore(round: number): number
  /** While they train: true once they shall rest soon for a change. */
  watch(progress: PopulationProgress): boolean
  /** Whether something is to be changed before this round. */
  isDue(round: number): boolean
  /** They rest before this round: carries out what is due. True where the schedule is another one now. */
  change(round: number): Promise<boolean>
  /** A learner has died of this: whether the others are to go on without it, for there will be fewer of them from the next rest on. */
  leavesVacant(error: Error): boolean
  /** What has been decided since it was asked last. */
  takeDecisions(): readonly PopulationDecision[]
}

/** A number that was given, or a schedule that was recorded. */
export class GivenPopulation implements PopulationControl {
  readonly schedule: PopulationSchedule
  readonly watchEvery = Infinity
  readonly #supervisor: ActorRef<Supervisor>
  #decisions: PopulationDecision[] = []
  #learners: number

  constructor(schedule: PopulationSchedule, supervisor: ActorRef<Supervisor>, round = 0) {
    this.schedule = schedule
    this.#supervisor = supervisor
    this.#learners = learnersAt(schedule, round)
    this.#prepare(round)
  }

  restBefore(round: number): number {
    return changeAfter(this.schedule, round)
  }

  watch(): boolean {
    return false
  }

  isDue(round: number): boolean {
    return learnersAt(this.schedule, round) !== this.#learners
  }

  async change(round: number): Promise<boolean> {
    const from = this.#learners
    const to = learnersAt(this.schedule, round)
    await this.#supervisor.askWith({ deadline: Infinity }).resize(to)
    this.#learners = to
    this.#prepare(round)
    this.#decisions.push({ action: 'follow', from, to, reason: 'as the given schedule says', figures: [] })
    return false
  }

  /** Who comes next is made ready while the others train; what goes wrong is met at the change. */
  #prepare(round: number): void {
    const next = changeAfter(this.schedule, round)
    const learners = learnersAt(this.schedule, next)
    if (next < Infinity && learners > this.#learners)
      this.#supervisor
        .askWith({ deadline: Infinity })
        .prepare(learners)
        .catch(() => {})
  }

  /** Who has asked for so many is told that there are not. */
  leavesVacant(): boolean {
    return false
  }

  takeDecisions(): readonly PopulationDecision[] {
    return this.#decisions.splice(0)
  }
}
