import { ArbalestError, invalidOption } from '../errors.js'
import type { Departure, Engine, Handle } from '../engine/contract.js'
import { usableCores } from '../engine/machine.js'
import type { SupervisionSettings } from '../options/supervision.js'
import { DeferredReply } from '../runtime/actor.js'
import type { ActorContext } from '../runtime/context.js'
import type { PopulationEvent } from '../observe/events.js'
import { recordedArguments, type RunChange, type RunPlace } from '../schedules/interventions.js'
import { unpackError } from '../runtime/errors-across-threads.js'
import { deferred } from '../runtime/promises.js'
import type { LearnerFailure } from './learner-failure.js'
import type { RepeatedMessage } from './learner.js'
import { LearnerSlot, NO_RECORD, type LearnerSlotOptions, type MembershipRecord, type SpawnLearner } from './learner-slot.js'
import { checkSetup } from './setup-checks.js'
import type { MessageOutcome } from '../learner/learner-plugin.js'
import type { LearnerReport } from '../learner/step-runner.js'
import type { PopulationStatus, RunControl, SupervisorProtocol } from '../protocols/protocols.js'

/** A learner that runs, and its replica. */
export interface RunningLearner {
  readonly learner: number
  readonly replica: Handle
}

/** The messages by which a run conducts its supervisor. */
export interface SupervisorControlProtocol {
  /**
   * Starts all learners, then lets all join, so that the first round has them all. Rejects with LEARNER_FAILED if one cannot be started, and with ABORTED at `stop`,
   * without waiting for those that are starting.
   */
  start(): Promise<void>

  /** All learners train until the group pauses or stops. Rejects with LEARNER_FAILED once one cannot be replaced. */
  train(): DeferredReply<LearnerReport[]>

  /**
   * Starts further learners, up to this number in all, while the others train, so that `resizeNow` can let them join at once; ends those beyond it that wait
   * for that. Rejects with LEARNER_FAILED if one cannot be started; the others are not affected.
   */
  prepare(learners: number): DeferredReply<void>

  /**
   * Sets the number of learners from the group's next round on; to be called while the group pauses. New learners start from the central
   * model. The last ones leave: their threads end and their memory is freed in the background. Vacant slots are filled once it is free.
   * Throws INVALID_STATE while learners train.
   */
  resizeNow(learners: number): Promise<void>

  /** Another learner takes this place, while the group pauses. Answers with its number. Throws INVALID_STATE while learners train, INVALID_OPTION, LEARNER_FAILED. */
  replaceNow(place: number): Promise<number>

  /** Calls a method of the learner in this place, while the group pauses. Throws INVALID_STATE while learners train, INVALID_OPTION. */
  messageNow(place: number, method: string, args: readonly unknown[]): Promise<MessageOutcome>

  /**
   * While the group pauses: the learner in this place leaves in the next round as one of a recorded run has left, and another takes its place by `succeedNow`.
   * Throws INVALID_STATE while learners train, INVALID_OPTION.
   */
  departNow(place: number, departure: Departure): Promise<void>

  /** While the group pauses: a learner begins in a place whose learner has departed. Throws INVALID_STATE while learners train, INVALID_OPTION, LEARNER_FAILED. */
  succeedNow(place: number): Promise<void>

  /** Sends the learner in this place again the messages that it got before a checkpoint, while the group pauses. Throws INVALID_STATE while learners train, INVALID_OPTION. */
  repeatNow(place: number, messages: readonly RepeatedMessage[]): Promise<void>

  /** The running learners by rank, while the group pauses; undefined for one that is being replaced. */
  replicas(): Promise<(RunningLearner | undefined)[]>

  /** Stops the group and replaces no learner any more; to be called before the actor is stopped. */
  close(): void
}

/** The supervisor runs in the job's thread, so these may be an engine and functions. */
export interface SupervisorOptions {
  readonly engine: Engine
  readonly group: Handle
  readonly learners: number
  /** The slots are dealt out to the devices in turn; 1 if omitted. */
  readonly devices?: number
  readonly supervision: SupervisionSettings
  readonly spawn: SpawnLearner
  /** Called for each learner that fails. */
  readonly onFailure?: (failure: LearnerFailure) => void
  /** Learners that die, and their successors; nothing is recorded if omitted. */
  readonly record?: MembershipRecord
  /** Whether a place has no learner before `succeedNow`; never if omitted. */
  readonly isAwaiting?: (place: number) => boolean
  /** The number of the first learner in a place, from 0 to below `learners`: learners join in the order of their numbers. That of the place if omitted. */
  readonly numberOf?: (place: number) => number
  /** Whether a learner of the first population starts with states of its own, from a checkpoint. */
  readonly resumed?: (learner: number) => boolean
  /** Whether the slot stays vacant after this error, until `resize`. Never asked for the last learner; never if omitted. */
  readonly leavesVacant?: (error: Error) => boolean
  /** The run that makes the changes; absent in a system that is wired by hand. */
  readonly control?: RunControl
  /** Ends the first start when it is aborted. */
  readonly stop?: AbortSignal
  /** What was decided about the number of learners so far. */
  readonly decisions?: () => readonly PopulationEvent[]
}

/** Checks of the learners' heartbeats within their deadline. */
const CHECKS = 8

/** Learners that start at the same time, for each core. If hundreds started at once, each would exceed the deadline of a start. */
const STARTS_PER_CORE = 4

/** Owns the population of learners: starts them, replaces those that fail by others that start from the central model, stops them. */
export class Supervisor implements SupervisorProtocol, SupervisorControlProtocol {
  readonly #options: SupervisorOptions
  readonly #newSlot: (rank: number, first?: number) => LearnerSlot
  #slots: readonly LearnerSlot[]
  /** Their learners run and wait for `resizeNow` to let them join. */
  #prepared: readonly LearnerSlot[] = []
  /** Settles when no learner is being prepared any more. */
  #preparing: Promise<void> = Promise.resolve()
  #learners = 0
  #training = false
  #closed = false

  constructor(options: SupervisorOptions, context: ActorContext<Supervisor>) {
    checkSetup(options, 'engine', 'group', 'learners', 'supervision', 'spawn')
    this.#options = options
    const { engine, group, devices = 1, supervision, onFailure = () => {}, resumed = () => false } = options
    // The last learner is never retired: population changes happen at a pause, and without learners no pause is reached.
    const leavesVacant = (error: Error) => engine.groupStatus(group).members.length > 0 && (options.leavesVacant?.(error) ?? false)
    const nextLearner = () => this.#learners++
    const spawn: LearnerSlotOptions['spawn'] = (learner, rank, heartbeat) => options.spawn(context, learner, rank, heartbeat)
    const { numberOf = (place: number) => place, record = NO_RECORD } = options
    this.#learners = options.learners
    const common = { engine, group, record, limits: supervision, deadline: supervision.deadline, patience: CHECKS }
    const newSlot = (rank: number, first?: number) => {
      const about = { rank, device: rank % devices, ...(first !== undefined && { first }) }
      return new LearnerSlot({ ...common, ...about, spawn, nextLearner, onFailure, resumed, leavesVacant })
    }
    this.#newSlot = newSlot
    this.#slots = Array.from({ length: options.learners }, (_, rank) => newSlot(rank, numberOf(rank)))
  }

  async start(): Promise<void> {
    const { isAwaiting = () => false, numberOf = (place: number) => place, stop } = this.#options
    const stopped = rejectionAt(stop)
    const fill = async (slot: LearnerSlot, place: number): Promise<void> => {
      if (isAwaiting(place)) return slot.leaveVacant()
      await (stop?.aborted ? stopped.promise : Promise.race([slot.fill(), stopped.promise]))
    }
    const failed = await firstFailure(this.#slots, fill)
    stopped.end()
    if (failed) {
      this.#close()
      throw failed.error
    }
    const places = [...this.#slots.keys()].filter((place) => !isAwaiting(place))
    // Learners meet in the order in which they join.
    for (const place of places.sort((a, b) => numberOf(a) - numberOf(b))) await this.#slots[place]!.join()
  }

  train(): DeferredReply<LearnerReport[]> {
    return new DeferredReply(this.#train())
  }

  prepare(learners: number): DeferredReply<void> {
    const prepare = async () => {
      await this.#endPrepared(learners)
      await this.#startFurther(learners)
    }
    return new DeferredReply(this.#inTurn(prepare))
  }

  population(): PopulationStatus {
    return { learners: this.#slots.length, places: this.#slots.map((slot) => slot.status) }
  }

  decisions(from = 0): readonly PopulationEvent[] {
    return this.#options.decisions?.().slice(from) ?? []
  }

  resize(learners: number): DeferredReply<RunPlace> {
    return this.#change({ kind: 'resize', learners }, () => this.resizeNow(learners))
  }

  replace(place: number): DeferredReply<RunPlace> {
    return this.#change({ kind: 'replace', place }, () => this.replaceNow(place))
  }

  tuning(on: boolean): DeferredReply<RunPlace> {
    return this.#change({ kind: 'tuning', on }, () => {
      throw new ArbalestError('INVALID_STATE', 'tuning: there is no tuner in a system that is wired by hand')
    })
  }

  message(place: number, method: string, args: readonly unknown[]): DeferredReply<unknown> {
    const { control } = this.#options
    if (control) return new DeferredReply(control.request({ kind: 'message', place, method, ...recordedArguments(args) }))
    return new DeferredReply(this.messageNow(place, method, args).then(answerOf))
  }

  async replaceNow(place: number): Promise<number> {
    this.#refuseTraining()
    return this.#slotIn(place).replace()
  }

  async messageNow(place: number, method: string, args: readonly unknown[]): Promise<MessageOutcome> {
    this.#refuseTraining()
    return this.#slotIn(place).message(method, args)
  }

  async departNow(place: number, departure: Departure): Promise<void> {
    this.#refuseTraining()
    await this.#slotIn(place).depart(departure)
  }

  async succeedNow(place: number): Promise<void> {
    this.#refuseTraining()
    await this.#slotIn(place).succeed()
  }

  async repeatNow(place: number, messages: readonly RepeatedMessage[]): Promise<void> {
    this.#refuseTraining()
    await this.#slotIn(place).repeat(messages)
  }

  async resizeNow(learners: number): Promise<void> {
    this.#refuseTraining()
    await this.#inTurn(() => this.#startFurther(learners))
    const all = [...this.#slots, ...this.#prepared]
    const joining = this.#prepared.slice(0, Math.max(0, learners - this.#slots.length))
    this.#prepared = []
    this.#slots = all.slice(0, learners)
    for (const slot of joining) await slot.join()
    const leaving = all.slice(learners).toReversed()
    await this.#fillVacant(Promise.all(leaving.map((slot) => slot.retire())))
  }

  replicas(): Promise<(RunningLearner | undefined)[]> {
    return Promise.all(this.#slots.map((slot) => slot.replica()))
  }

  close(): void {
    this.#close()
    // All at once: the system stops one actor after another, and the times that their learners take would add up.
    for (const slot of [...this.#slots, ...this.#prepared]) slot.stop()
    this.#options.engine.stop(this.#options.group)
  }

  /** Asks the run to make the change; without a run, makes it at once. */
  #change(change: RunChange, now: () => Promise<unknown>): DeferredReply<RunPlace> {
    const { control, engine, group } = this.#options
    if (control) return new DeferredReply(control.request(change) as Promise<RunPlace>)
    const made = async (): Promise<RunPlace> => {
      await now()
      const { round, iterations: iteration } = engine.groupStatus(group)
      return { round, iteration }
    }
    return new DeferredReply(made())
  }

  #refuseTraining(): void {
    if (this.#training) throw new ArbalestError('INVALID_STATE', 'learners: they are training; pause the group first')
  }

  #slotIn(place: number): LearnerSlot {
    const slot = this.#slots[place]
    if (slot) return slot
    throw invalidOption('place', place, `use a whole number from 0 to ${this.#slots.length - 1}: one for each learner`)
  }

  async #train(): Promise<LearnerReport[]> {
    const { engine, group, supervision } = this.#options
    this.#training = true
    const check = () => {
      for (const slot of this.#slots) slot.checkHeartbeat()
    }
    const checks = setInterval(check, supervision.deadline / CHECKS)
    let failure: { readonly error: unknown } | undefined
    const trained = this.#slots.map(async (slot) => {
      try {
        return [(await slot.train()) ?? []].flat()
      } catch (error) {
        failure ??= { error }
        this.#close()
        engine.stop(group)
        return []
      }
    })
    const reports = (await Promise.all(trained)).flat()
    clearInterval(checks)
    this.#training = false
    if (failure) throw failure.error
    return reports
  }

  /** One preparation runs after another. */
  #inTurn(prepare: () => Promise<void>): Promise<void> {
    const prepared = this.#preparing.then(prepare)
    this.#preparing = prepared.catch(() => {})
    return prepared
  }

  /** Ends prepared learners until there are at most `learners` in all. Resolves once their memory is free. */
  async #endPrepared(learners: number): Promise<void> {
    const kept = Math.max(0, learners - this.#slots.length)
    const ended = this.#prepared.slice(kept)
    this.#prepared = this.#prepared.slice(0, kept)
    await Promise.all(ended.map((slot) => slot.retire()))
  }

  async #startFurther(learners: number): Promise<void> {
    if (this.#closed) return
    const from = this.#slots.length + this.#prepared.length
    const slots = Array.from({ length: learners - from }, (_, i) => this.#newSlot(from + i))
    this.#prepared = [...this.#prepared, ...slots]
    const begun: LearnerSlot[] = []
    const failed = await firstFailure(slots, (slot) => {
      begun.push(slot)
      return slot.fill()
    })
    if (!failed) return
    this.#prepared = this.#prepared.filter((slot) => !slots.includes(slot))
    await Promise.all(begun.map((slot) => slot.retire()))
    throw failed.error
  }

  /** Waits for `memoryFree` only if there is a vacant slot: its learner may have failed for want of memory. */
  async #fillVacant(memoryFree: Promise<unknown>): Promise<void> {
    for (const slot of this.#slots) {
      if (!slot.vacant) continue
      await memoryFree
      await slot.fill()
      await slot.join()
    }
  }

  #close(): void {
    this.#closed = true
    for (const slot of [...this.#slots, ...this.#prepared]) slot.close()
  }
}

function answerOf(outcome: MessageOutcome): unknown {
  if ('error' in outcome) throw unpackError(outcome.error)
  return outcome.answer
}

/** Rejects with ABORTED when the signal is aborted, unless it is ended before. */
function rejectionAt(signal: AbortSignal | undefined): { readonly promise: Promise<never>; readonly end: () => void } {
  const { promise, reject } = deferred<never>()
  const refuse = () => reject(new ArbalestError('ABORTED', 'learners: the run was stopped while they started'))
  // A rejection that nobody awaits would end the process.
  promise.catch(() => {})
  if (signal?.aborted) refuse()
  signal?.addEventListener('abort', refuse, { once: true })
  return { promise, end: () => signal?.removeEventListener('abort', refuse) }
}

interface Failure {
  readonly index: number
  readonly error: unknown
}

/**
 * Does the work of each slot, some slots at a time. After a failure no further work begins. Returns the failure with the lowest index, once all work that
 * has begun has ended; undefined if there is none.
 */
async function firstFailure(
  slots: readonly LearnerSlot[],
  work: (slot: LearnerSlot, index: number) => Promise<void>
): Promise<Failure | undefined> {
  const failures: Failure[] = []
  const left = slots.entries()
  const oneByOne = async () => {
    for (const [index, slot] of left) {
      if (failures.length > 0) return
      await work(slot, index).catch((error: unknown) => failures.push({ index, error }))
    }
  }
  await Promise.all(Array.from({ length: Math.min(slots.length, STARTS_PER_CORE * usableCores()) }, oneByOne))
  return failures.sort((a, b) => a.index - b.index)[0]
}
