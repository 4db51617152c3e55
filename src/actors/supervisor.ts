import { ArbalestError } from '../errors.js'
import type { Engine, Handle } from '../engine/contract.js'
import { Later, type ActorContext } from '../runtime/actor.js'
import { asError } from '../runtime/errors-across-threads.js'
import type { LearnerReport } from './gate.js'
import { Place, worded, type Loss, type PlaceOptions, type SpawnLearner } from './place.js'
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
  readonly supervision: Supervision
  readonly spawn: SpawnLearner
  readonly lost?: (loss: Loss) => void
}

/**
 * Looks within a deadline. Counting them, and not the time itself, keeps learners from being given up because the whole process or the
 * supervisor's own thread stood still.
 */
const LOOKS = 8

/** Owns the learners' population: starts them, replaces those that die from the central model, stops them. */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #places: readonly Place[]
  #learners = 0

  constructor(options: SupervisorOptions, context: ActorContext<Supervisor>) {
    this.#options = options
    const { engine, group, supervision: limits, lost = () => {} } = options
    const nextLearner = () => this.#learners++
    const spawn: PlaceOptions['spawn'] = (learner, rank, pulse) => options.spawn(context, learner, rank, pulse)
    this.#places = Array.from(
      { length: options.learners },
      (_, rank) => new Place({ engine, group, rank, limits, spawn, nextLearner, lost })
    )
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

  /** All learners train until the group pauses or stops them. Rejects with LEARNER_FAILED once one cannot be replaced any more. */
  train(): Later<LearnerReport[]> {
    return new Later(this.#train())
  }

  async #train(): Promise<LearnerReport[]> {
    const { engine, group, supervision } = this.#options
    const look = () => {
      for (const place of this.#places) place.look(LOOKS, supervision.deadline)
    }
    const watch = setInterval(look, supervision.deadline / LOOKS)
    let failure: { readonly error: unknown } | undefined
    const trained = this.#places.map(async (place) => {
      try {
        return [await place.train()]
      } catch (error) {
        failure ??= { error }
        this.#close()
        engine.stop(group)
        return []
      }
    })
    const reports = (await Promise.all(trained)).flat()
    clearInterval(watch)
    if (failure) throw failure.error
    return reports
  }

  #close(): void {
    for (const place of this.#places) place.close()
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
