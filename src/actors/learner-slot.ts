import { ArbalestError, warn } from '../errors.js'
import type { Departure, Engine, Handle } from '../engine/contract.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import type { Spawner } from '../runtime/context.js'
import { asError } from '../runtime/errors-across-threads.js'
import type { ExitReason } from '../runtime/exit-reason.js'
import { deferred, type Deferred } from '../runtime/promises.js'
import { Heartbeat, HeartbeatMonitor } from '../learner/heartbeat.js'
import type { MessageOutcome } from '../learner/learner-plugin.js'
import type { LearnerReport } from '../learner/step-runner.js'
import type { LearnerStatus } from '../protocols/protocols.js'
import {
  cannotStart,
  describeError,
  errorOfExit,
  failsAll,
  RestartCounter,
  tooManyFailures,
  unanswered,
  type LearnerFailure,
  type RestartLimits
} from './learner-failure.js'
import type { LearnerControlProtocol, RepeatedMessage } from './learner.js'

/** Spawns a learner as a child of the supervisor. */
export type SpawnLearner = (
  spawner: Spawner,
  learner: number,
  rank: number,
  heartbeat: Heartbeat
) => Promise<ActorRef<LearnerControlProtocol>>

/** When another learner takes the place of one that has died. `now`: as soon as it has started. `later`: when `succeed` is called. `none`: not before the population changes. */
export type Succession = 'now' | 'later' | 'none'

/** The record of the learners that die and of those that take their places. */
export interface MembershipRecord {
  /** The next departure from this place in the recorded run that is repeated; undefined if there is none. */
  planned(place: number): Departure | undefined
  /** A learner has died. Returns when another takes its place: `succession`, unless the run repeats a recorded one, which then decides. */
  died(place: number, departure: Departure, succession: 'now' | 'none'): Succession
  /** Another learner takes part from this round on, which begins with this iteration. */
  joined(place: number, from: { readonly round: number; readonly iteration: number }): void
}

/** Of a run that neither keeps a record nor repeats one. */
export const NO_RECORD: MembershipRecord = {
  planned: () => undefined,
  died: (_place, _departure, succession) => succession,
  joined: () => {}
}

export interface LearnerSlotOptions {
  readonly engine: Engine
  readonly group: Handle
  readonly rank: number
  /** The slot's learners average with those of this device first. */
  readonly device: number
  readonly limits: RestartLimits
  /** How many checks of the heartbeat make `deadline`, in milliseconds: the longest time without a step. */
  readonly patience: number
  readonly deadline: number
  readonly spawn: (learner: number, rank: number, heartbeat: Heartbeat) => Promise<ActorRef<LearnerControlProtocol>>
  /** The number of the slot's first learner; one that no other has had if omitted. */
  readonly first?: number
  /** A number that no learner of the group has had. */
  readonly nextLearner: () => number
  readonly onFailure: (failure: LearnerFailure) => void
  readonly record: MembershipRecord
  /** Whether a learner starts with states of its own, from a checkpoint. */
  readonly resumed: (learner: number) => boolean
  /** Whether the slot stays vacant after this error, until the population changes. */
  readonly leavesVacant: (error: Error) => boolean
}

/** The learner in a slot. */
interface Occupant {
  readonly learner: number
  readonly ref: ActorRef<LearnerControlProtocol>
  readonly heartbeat: Heartbeat
  /** Resolved once the learner is given up, although its thread may still run. */
  readonly givenUp: Deferred<void>
  failed: boolean
}

/** Milliseconds that the thread of a learner that was given up may take to end by itself. */
const STOP_DEADLINE = 1000

/** A learner's place in the population. A learner that fails is replaced by another in the same slot. */
export class LearnerSlot {
  readonly #options: LearnerSlotOptions
  readonly #restarts: RestartCounter
  #occupant!: Promise<Occupant>
  /** The same, once it has started. */
  #started: Occupant | undefined
  /** Whether the slot's learner takes part in the group. */
  #member = false
  #first: number | undefined
  #closed = false
  #ending = false
  #vacant = false
  /** The slot is vacant until `succeed`. */
  #awaiting = false
  #firstError: Error | undefined
  #lastError: Error | undefined
  #deaths = 0
  #failedBeforeFirstStep = false
  /** Present while the learner trains. */
  #watched: { readonly occupant: Occupant; readonly monitor: HeartbeatMonitor } | undefined

  constructor(options: LearnerSlotOptions) {
    this.#options = options
    this.#first = options.first
    this.#restarts = new RestartCounter(options.limits)
  }

  /** The slot has no learner, and gets none before `fill`. */
  get vacant(): boolean {
    return this.#vacant && !this.#awaiting
  }

  /** Starts a learner, which does not yet take part in the group. Rejects with LEARNER_FAILED if it cannot be started: a second attempt would fail, too. */
  async fill(): Promise<void> {
    this.#vacant = this.#awaiting = false
    const learner = this.#first ?? this.#options.nextLearner()
    this.#first = undefined
    const occupant = this.#spawnFirst(learner)
    this.#setOccupant(occupant)
    await occupant
  }

  /** The slot's learners take part in the group from the next round on. */
  async join(): Promise<void> {
    const { learner, failed } = await this.#occupant
    this.#member = true
    if (!failed) this.#join(learner, this.#options.resumed(learner))
  }

  get status(): LearnerStatus {
    const occupant = this.#started?.failed ? undefined : this.#started
    const lives = this.#watched?.occupant === occupant ? 'training' : 'resting'
    return {
      place: this.#options.rank,
      learner: occupant?.learner ?? null,
      state: this.#vacant ? 'vacant' : occupant ? lives : 'starting',
      steps: occupant?.heartbeat.steps ?? 0,
      deaths: this.#deaths,
      lastDeath: this.#lastError ? describeError(this.#lastError) : null
    }
  }

  /** At a pause of the group: another learner, which begins at the central model, takes the place of the present one. Rejects with LEARNER_FAILED if it cannot be started. */
  async replace(): Promise<number> {
    const successor = await this.#spawnFirst(this.#options.nextLearner())
    const before = await this.#occupant.catch(() => undefined)
    this.#vacant = this.#awaiting = false
    this.#setOccupant(Promise.resolve(successor))
    if (before) {
      // Its end must not be taken for a failure.
      before.failed = true
      this.#options.engine.evict(this.#options.group, before.learner)
    }
    this.#join(successor.learner, false)
    await before?.ref.stop({ deadline: STOP_DEADLINE })
    return successor.learner
  }

  /** At a pause of the group: the slot's learner leaves as one of a recorded run has left, and no other takes its place before `succeed`. */
  async depart(departure: Departure): Promise<void> {
    const occupant = await this.#occupant
    const { engine, group } = this.#options
    if (departure.until > departure.round) return engine.depart(group, occupant.learner, departure)
    this.#fail(occupant, new ArbalestError('LEARNER_FAILED', `learner ${occupant.learner}: it left as in the recorded run`))
  }

  /** The slot begins without a learner, and gets none before `succeed`. */
  leaveVacant(): void {
    this.#vacant = this.#awaiting = true
    this.#setOccupant(Promise.reject(this.#noLearner()))
  }

  /** At a pause of the group: a learner begins in the place of one that departed. */
  async succeed(): Promise<void> {
    await this.fill()
    await this.join()
  }

  /** At a pause of the group: calls a method of the slot's learner, once it has started. Rejects with ACTOR_GONE if it dies meanwhile, and with DEADLINE_EXCEEDED. */
  async message(method: string, args: readonly unknown[]): Promise<MessageOutcome> {
    const { ref, learner } = await this.#occupant
    const { deadline } = this.#options
    try {
      return await ref.askWith({ deadline }).message(method, args)
    } catch (error) {
      throw unanswered(error, { learner, method, deadline })
    }
  }

  /** At a pause of the group: sends the slot's learner again the messages that it got before a checkpoint. */
  async repeat(messages: readonly RepeatedMessage[]): Promise<void> {
    const { ref } = await this.#occupant
    await ref.askWith({ deadline: this.#options.deadline }).repeat(messages)
  }

  /** The slot's learner and its replica; undefined while it is being started or replaced. Rejects if it does not answer. */
  async replica(): Promise<{ readonly learner: number; readonly replica: Handle } | undefined> {
    const occupant = this.#started
    if (!occupant || occupant.failed) return undefined
    try {
      return { learner: occupant.learner, replica: await occupant.ref.askWith({ deadline: this.#options.deadline }).replica() }
    } catch (error) {
      if (error instanceof ArbalestError && error.code === 'ACTOR_GONE') return undefined
      throw error
    }
  }

  /**
   * Trains until the group pauses or stops, with as many learners in turn as it takes. Resolves with undefined once the slot is vacant.
   * Rejects once a learner cannot be replaced.
   */
  async train(): Promise<LearnerReport | undefined> {
    for (;;) {
      if (this.#vacant) return undefined
      const occupant = await this.#occupant
      this.#watched = { occupant, monitor: new HeartbeatMonitor(occupant.heartbeat, this.#options.patience) }
      try {
        const report = await Promise.race([occupant.ref.askWith({ deadline: Infinity }).train(), occupant.givenUp.promise])
        if (report && report.outcome !== 'evicted') return report
        this.#fail(occupant, new ArbalestError('LEARNER_FAILED', `learner ${occupant.learner}: it was evicted from its group`))
      } catch (error) {
        const gone = error instanceof ArbalestError && error.code === 'ACTOR_GONE'
        this.#fail(occupant, gone ? errorOfExit(occupant.learner, await occupant.ref.exited) : asError(error))
      } finally {
        this.#watched = undefined
      }
      if (this.#closed)
        throw new ArbalestError('ABORTED', `learner ${occupant.learner}: it has failed, and failed learners are no longer replaced`)
    }
  }

  /** Call this regularly: gives up a learner whose heartbeat has stopped while it trains. */
  checkHeartbeat(): void {
    if (!this.#watched?.monitor.hasStopped()) return
    const { occupant } = this.#watched
    const { learner } = occupant
    const { deadline } = this.#options
    const message = `learner ${learner}: no step within ${deadline} ms; let its steps be shorter, or allow a longer supervision.deadline`
    this.#fail(occupant, new ArbalestError('DEADLINE_EXCEEDED', message, { data: { learner, deadline } }))
  }

  /** Removes the slot, at a pause of the group: its learner leaves the group. Resolves once its thread has ended and its memory is free. */
  async retire(): Promise<void> {
    this.end()
    const occupant = await this.#occupant.catch(() => undefined)
    if (!occupant) return
    this.#options.engine.evict(this.#options.group, occupant.learner)
    await occupant.ref.stop({ deadline: STOP_DEADLINE })
    occupant.givenUp.resolve()
  }

  /** From now on a learner that fails is not replaced. */
  close(): void {
    this.#closed = true
  }

  /** As `close`, where the slot's learner is to end. */
  end(): void {
    this.#ending = true
    this.close()
  }

  /** As `end`, and stops the slot's learner, which has its `shutdown` for that. */
  stop(): void {
    this.end()
    void this.#occupant.then(
      ({ ref }) => ref.stop(),
      () => {}
    )
  }

  /** As `#spawn`, for a learner that succeeds none that has failed: rejects with LEARNER_FAILED, since another attempt would fail, too. */
  async #spawnFirst(learner: number): Promise<Occupant> {
    try {
      return await this.#spawn(learner)
    } catch (error) {
      throw cannotStart(learner, error)
    }
  }

  async #spawn(learner: number): Promise<Occupant> {
    const heartbeat = new Heartbeat()
    const ref = await this.#options.spawn(learner, this.#options.rank, heartbeat)
    const occupant: Occupant = { learner, ref, heartbeat, givenUp: deferred(), failed: false }
    void ref.exited.then((reason) => {
      if (reason.kind === 'stopped') return
      if (occupant.failed || this.#ending) warnOfEnd(occupant, reason)
      this.#fail(occupant, errorOfExit(learner, reason))
    })
    return occupant
  }

  /** Handles the first failure of a learner, and ignores later ones. */
  #fail(occupant: Occupant, error: Error): void {
    if (occupant.failed || this.#closed) return occupant.givenUp.resolve()
    occupant.failed = true
    this.#lose(occupant.learner, error, occupant.heartbeat.steps === 0)
    void occupant.ref.stop({ deadline: STOP_DEADLINE })
    occupant.givenUp.resolve()
  }

  /** The learner leaves the group, and another one starts in its place, unless the run ends by this or too many have failed there. */
  #lose(learner: number, error: Error, beforeFirstStep: boolean): void {
    const { engine, group, rank, limits, nextLearner, onFailure, record, leavesVacant } = this.#options
    const { round, iterations: iteration } = engine.groupStatus(group)
    const departure = engine.evict(group, learner, record.planned(rank))
    this.#firstError ??= error
    this.#lastError = error
    this.#deaths++
    const endsRun = failsAll(error)
    const follows = leavesVacant(error) ? 'none' : 'now'
    // A learner that had not joined yet has no departure, and nothing to record.
    const succession = departure ? record.died(rank, departure, follows) : follows
    this.#awaiting = succession === 'later'
    this.#vacant = succession !== 'now'
    // Two failures in a row before a first step have a cause that a third learner would meet, too.
    const hopeless = beforeFirstStep && this.#failedBeforeFirstStep
    const replaceable = !endsRun && !this.#vacant && this.#restarts.allows(performance.now()) && !hopeless
    this.#failedBeforeFirstStep = beforeFirstStep
    const replacedBy = replaceable ? nextLearner() : null
    const none = () => (this.#awaiting ? this.#noLearner() : tooManyFailures(learner, rank, this.#firstError!, error, limits))
    this.#setOccupant(replacedBy === null ? Promise.reject(endsRun ? error : none()) : this.#startSuccessor(replacedBy))
    if (endsRun) return
    onFailure({ learner, rank, error, round, iteration, replacedBy, vacant: this.#vacant })
  }

  /** Starts the next learner; if the failed one was a member of the group, so is this one from the next round on. */
  async #startSuccessor(learner: number): Promise<Occupant> {
    let occupant: Occupant
    try {
      occupant = await this.#spawn(learner)
    } catch (error) {
      if (this.#closed) throw error
      this.#lose(learner, asError(error), true)
      return this.#occupant
    }
    if (this.#member && !this.#closed && !occupant.failed) {
      const { engine, group, rank, record } = this.#options
      const round = this.#join(learner, false)
      record.joined(rank, { round, iteration: engine.iterationOf(group, learner) })
    }
    return occupant
  }

  #noLearner(): ArbalestError {
    return new ArbalestError('INVALID_STATE', `place: there is no learner in ${this.#options.rank} before the recorded run has one there`)
  }

  /** Returns the learner's first round. */
  #join(learner: number, resumed: boolean): number {
    const { engine, group, device } = this.#options
    return engine.join(group, learner, resumed, device)
  }

  /** A rejection reaches the next call that awaits the occupant, and is no unhandled rejection until then. */
  #setOccupant(occupant: Promise<Occupant>): void {
    this.#occupant = occupant
    this.#started = undefined
    const onStarted = (started: Occupant) => {
      if (this.#occupant === occupant) this.#started = started
    }
    occupant.then(onStarted, () => {})
  }
}

/** A learner that was to end has failed at that. The thread of one that was given up may have to be terminated. */
function warnOfEnd({ learner, failed }: Occupant, reason: ExitReason): void {
  if (reason.kind === 'failed') warn(`learner ${learner}: its end has failed: ${describeError(reason.error)}`)
  else if (!failed) warn(`${errorOfExit(learner, reason).message} before it had stopped: let its steps and its method stopping end sooner`)
}
