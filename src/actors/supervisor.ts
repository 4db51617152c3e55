import { ArbalestError } from '../errors.js'
import type { Engine, Handle } from '../engine/contract.js'
import { DeferredReply } from '../runtime/actor.js'
import type { ActorContext } from '../runtime/context.js'
import { asError } from '../runtime/errors-across-threads.js'
import type { LearnerReport } from './gate.js'
import { Place, worded, type Loss, type PlaceOptions, type SpawnLearner } from './learner-slot.js'
import type { RestartLimits } from './restart-intensity.js'

/** When a learner that dies is replaced, and when it counts as dead. */
export interface Supervision extends RestartLimits {
  /** Milliseconds without a step after which a learner that waits for nobody is given up. */
  readonly deadline: number
}

/** It lives in the job's thread, so that it can be given an engine and functions. */
export interface SupervisorOptions {
  readonly engine: Engine
  readonly group: Handle
  readonly learners: number
  /** On which the places lie in turns, so that they have as many learners each, or one more than another; 1 if left out. */
  readonly devices?: number
  readonly supervision: Supervision
  readonly spawn: SpawnLearner
  readonly lost?: (loss: Loss) => void
  /** Whether a learner of the first population comes with states of its own, from a checkpoint. */
  readonly resumed?: (learner: number) => boolean
  /** Whether the others go on without a learner that died of this, until `resize`; asked with others there. Nobody is left out if it is. */
  readonly yields?: (error: Error) => boolean
}

/**
 * Looks within a deadline. Counting them, and not the time itself, keeps learners from being given up because the whole process or the
 * supervisor's own thread stood still.
 */
const LOOKS = 8

/** Owns the learners' population: starts them, replaces those that die from the central model, stops them. */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #makePlace: (rank: number) => Place
  #places: readonly Place[]
  /** Up, and waiting to join. */
  #prepared: readonly Place[] = []
  /** Settles when those that are being made ready are, or cannot be. */
  #preparing: Promise<void> = Promise.resolve()
  #learners = 0
  #training = false
  #closed = false

  constructor(options: SupervisorOptions, context: ActorContext<Supervisor>) {
    this.#options = options
    const { engine, group, devices = 1, supervision: limits, lost = () => {}, resumed = () => false } = options
    // The last one is never let go: nobody would come to the rest at which there is a change.
    const yields = (error: Error) => engine.groupStatus(group).members.length > 0 && (options.yields?.(error) ?? false)
    const nextLearner = () => this.#learners++
    const spawn: PlaceOptions['spawn'] = (learner, rank, pulse) => options.spawn(context, learner, rank, pulse)
    this.#makePlace = (rank) =>
      new Place({ engine, group, rank, device: rank % devices, limits, spawn, nextLearner, lost, resumed, yields })
    this.#places = Array.from({ length: options.learners }, (_, rank) => this.#makePlace(rank))
  }

  /** All learners are up before any joins: the first round has them all. Rejects with LEARNER_FAILED where one cannot be started. */
  async start(): Promise<void> {
    const outcomes = await Promise.allSettled(this.#places.map((place) => place.fill()))
    const failed = outcomes.findIndex(({ status }) => status === 'rejected')
    if (failed >= 0) {
      this.#close()
      throw cannotStart(failed, (outcomes[failed] as PromiseRejectedResult).reason)
    }
    for (const place of this.#places) await place.join()
  }

  /**
   * Learners beyond those that train are made ready while the others go on, so that they can join at once; other messages are answered meanwhile.
   * Rejects with LEARNER_FAILED where one cannot be started; the others are none the worse for it.
   */
  prepare(learners: number): DeferredReply<void> {
    return new DeferredReply(this.#prepare(learners))
  }

  #prepare(learners: number): Promise<void> {
    const ready = this.#preparing.then(() => this.#fill(learners))
    this.#preparing = ready.catch(() => {})
    return ready
  }

  async #fill(learners: number): Promise<void> {
    if (this.#closed) return
    const from = this.#places.length + this.#prepared.length
    const places = Array.from({ length: learners - from }, (_, i) => this.#makePlace(from + i))
    this.#prepared = [...this.#prepared, ...places]
    const outcomes = await Promise.allSettled(places.map((place) => place.fill()))
    const failed = outcomes.findIndex(({ status }) => status === 'rejected')
    if (failed < 0) return
    this.#prepared = this.#prepared.filter((place) => !places.includes(place))
    await Promise.all(places.map((place) => place.retire()))
    throw cannotStart(from + failed, (outcomes[failed] as PromiseRejectedResult).reason)
  }

  /**
   * So many learners take part from the group's next round on, to be called while it pauses. Those that come start from the central model; those
   * that go are the last ones: their threads end and their memory is freed in the background, or first where places among those that stay are
   * vacant, which are filled anew. Throws INVALID_STATE while learners train.
   */
  async resize(learners: number): Promise<void> {
    if (this.#training) throw new ArbalestError('INVALID_STATE', 'learners: they are training; pause the group first')
    await this.#prepare(learners)
    const all = [...this.#places, ...this.#prepared]
    const joining = this.#prepared.slice(0, Math.max(0, learners - this.#places.length))
    this.#prepared = []
    this.#places = all.slice(0, learners)
    for (const place of joining) await place.join()
    const gone = Promise.all(
      all
        .slice(learners)
        .toReversed()
        .map((place) => place.retire())
    )
    for (const [rank, place] of this.#places.entries()) {
      if (!place.vacant) continue
      await gone
      await place.fill().catch((error: unknown) => {
        throw cannotStart(rank, error)
      })
      await place.join()
    }
  }

  /** Of the learners that train, by their ranks, to be called while the group pauses; undefined for one that is just being replaced. */
  replicas(): Promise<({ readonly learner: number; readonly replica: Handle } | undefined)[]> {
    return Promise.all(this.#places.map((place) => place.replica()))
  }

  /** All learners train until the group pauses or stops them. Rejects with LEARNER_FAILED once one cannot be replaced any more. */
  train(): DeferredReply<LearnerReport[]> {
    return new DeferredReply(this.#train())
  }

  async #train(): Promise<LearnerReport[]> {
    const { engine, group, supervision } = this.#options
    this.#training = true
    const look = () => {
      for (const place of this.#places) place.look(LOOKS, supervision.deadline)
    }
    const watch = setInterval(look, supervision.deadline / LOOKS)
    let failure: { readonly error: unknown } | undefined
    const trained = this.#places.map(async (place) => {
      try {
        return [(await place.train()) ?? []].flat()
      } catch (error) {
        failure ??= { error }
        this.#close()
        engine.stop(group)
        return []
      }
    })
    const reports = (await Promise.all(trained)).flat()
    clearInterval(watch)
    this.#training = false
    if (failure) throw failure.error
    return reports
  }

  #close(): void {
    this.#closed = true
    for (const place of [...this.#places, ...this.#prepared]) place.close()
  }

  /** Before it is stopped: nobody trains and nobody is replaced any more. */
  close(): void {
    this.#close()
    this.#options.engine.stop(this.#options.group)
  }
}

function cannotStart(learner: number, thrown: unknown): ArbalestError {
  const cause = asError(thrown)
  return new ArbalestError('LEARNER_FAILED', `learner ${learner}: it cannot be started: ${worded(cause)}`, { cause, data: { learner } })
}
