import type { GroupStatus } from '../engine/contract.js'
import { ArbalestError } from '../errors.js'
import type { PopulationEvent } from '../observe/events.js'
import { changeAfter, changedAt, learnersAt, withChange, type PopulationSchedule } from '../schedules/population.js'

/** A decision about the population, as an event reports it; the run adds its progress. */
export type PopulationDecision = Pick<PopulationEvent, 'action' | 'from' | 'to' | 'reason' | 'figures'>

/** The progress of the learners while they train. */
export interface PopulationProgress extends GroupStatus {
  /** Of training so far. */
  readonly seconds: number
  /** Samples that the run has still to hand out, and seconds that it may still take. */
  readonly left: { readonly samples: number; readonly seconds: number }
}

/** The learners of a run, whose number changes. */
export interface ResizableLearners {
  /** Starts further learners, up to this number in all, while the others train, and ends those beyond it that were started so and have not joined. */
  prepare(learners: number): Promise<void>
  /** Sets their number while all of them rest. */
  resizeNow(learners: number): Promise<void>
}

/** Decides how many learners train, and changes their number while all of them rest. */
export interface PopulationControl {
  /** The past of the run, and the future as far as it is known. */
  readonly schedule: PopulationSchedule
  /** Milliseconds between two calls of `watch`; Infinity if it need not be called. */
  readonly watchEvery: number
  /** The next round before which the learners must rest for a change that is known. */
  restBefore(round: number): number
  /** Called while the learners train. Returns true if they must rest soon for a change. */
  watch(progress: PopulationProgress): boolean
  /** Whether a change is due before this round. */
  isDue(round: number): boolean
  /** Makes the change that is due. The learners rest before this round. Returns true if the schedule has changed. */
  change(round: number): Promise<boolean>
  /** Whether a learner that failed with this error stays without a replacement, since the next change will reduce the population. */
  leavesVacant(error: Error): boolean
  /** The decisions since the last call. */
  takeDecisions(): readonly PopulationDecision[]
  /** How many learners there are. */
  readonly learners: number
  /**
   * A program sets the number of learners, before this round, and takes over from a schedule or a tuner. Where a recorded run is repeated, the schedule has
   * what came after it. The learners rest.
   */
  resize(round: number, learners: number, isRepeated: boolean): Promise<void>
  /** So many learners are left from this round on, since a host is lost; later changes of a schedule stay. The learners rest. */
  lose(round: number, learners: number): void
  /** Lets the tuner change the number, or keeps it. Throws INVALID_STATE without a tuner, unless a recorded run is repeated, whose schedule is given. */
  tune(on: boolean, isRepeated: boolean): void
}

/** Follows a given number or schedule of learners. */
export class GivenPopulation implements PopulationControl {
  readonly watchEvery = Infinity
  #schedule: PopulationSchedule
  readonly #run: ResizableLearners
  #decisions: PopulationDecision[] = []
  #learners: number

  constructor(schedule: PopulationSchedule, run: ResizableLearners, round = 0) {
    this.#schedule = schedule
    this.#run = run
    this.#learners = learnersAt(schedule, round)
    this.#prepareNext(round)
  }

  get schedule(): PopulationSchedule {
    return this.#schedule
  }

  get learners(): number {
    return this.#learners
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
    await this.#run.resizeNow(to)
    this.#learners = to
    this.#prepareNext(round)
    this.#decisions.push({ action: 'follow', from, to, reason: 'as the given schedule says', figures: [] })
    return false
  }

  async resize(round: number, learners: number, isRepeated: boolean): Promise<void> {
    await this.#run.resizeNow(learners)
    this.#schedule = (isRepeated ? withChange : changedAt)(this.#schedule, { round, learners })
    this.#learners = learners
    this.#prepareNext(round)
  }

  lose(round: number, learners: number): void {
    this.#schedule = withChange(this.#schedule, { round, learners })
    this.#learners = learners
  }

  tune(_on: boolean, isRepeated: boolean): void {
    if (isRepeated) return
    const message = "tuning: the run has a given number of learners and no tuner; train with learners: 'auto'"
    throw new ArbalestError('INVALID_STATE', message)
  }

  /** Starts the learners of the next change while the others train. If that fails, the change itself fails with the same error. */
  #prepareNext(round: number): void {
    const next = changeAfter(this.schedule, round)
    const learners = learnersAt(this.schedule, next)
    if (next < Infinity && learners > this.#learners) this.#run.prepare(learners).catch(() => {})
  }

  /** Never: the user has asked for this number of learners, and gets an error if it is impossible. */
  leavesVacant(): boolean {
    return false
  }

  takeDecisions(): readonly PopulationDecision[] {
    return this.#decisions.splice(0)
  }
}
