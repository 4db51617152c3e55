import { ArbalestError } from '../errors.js'
import type { Engine, Handle } from '../engine/contract.js'
import { Later } from '../runtime/actor.js'
import { asError } from '../runtime/errors-across-threads.js'
import type { ActorRef } from '../runtime/ref.js'
import type { Learner, LearnerReport } from './learner.js'

/** It lives in the job's thread, so that it can be given an engine and a function. */
export interface SupervisorOptions {
  readonly engine: Engine
  readonly group: Handle
  readonly learners: number
  readonly spawn: (learner: number) => Promise<ActorRef<Learner>>
}

/** Owns the learners' population: starts them, notices when one fails, stops them in order. */
export class Supervisor {
  readonly #options: SupervisorOptions
  #learners: readonly ActorRef<Learner>[] = []

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  /** All learners are up before any joins: the first round has them all. */
  async start(): Promise<void> {
    const { engine, group, learners, spawn } = this.#options
    const outcomes = await Promise.allSettled(Array.from({ length: learners }, (_, learner) => spawn(learner)))
    this.#learners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    const failed = outcomes.findIndex(({ status }) => status === 'rejected')
    if (failed >= 0) throw learnerFailed(failed, (outcomes[failed] as PromiseRejectedResult).reason)
    for (let learner = 0; learner < learners; learner++) engine.join(group, learner)
  }

  /** All learners train until the group pauses or stops them. The first that fails stops the others. Rejects with LEARNER_FAILED. */
  train(): Later<LearnerReport[]> {
    return new Later(this.#train())
  }

  async #train(): Promise<LearnerReport[]> {
    const { engine, group } = this.#options
    let failure: ArbalestError | undefined
    const trained = this.#learners.map(async (ref, learner) => {
      try {
        return [await ref.askWith({ deadline: Infinity }).train()]
      } catch (error) {
        failure ??= learnerFailed(learner, error)
        engine.stop(group)
        return []
      }
    })
    const reports = (await Promise.all(trained)).flat()
    if (failure) throw failure
    return reports
  }

  async stopping(): Promise<void> {
    this.#options.engine.stop(this.#options.group)
    for (const learner of this.#learners.toReversed()) await learner.stop()
  }
}

/** The learner's own error is the cause, not the news that its thread is gone. */
function learnerFailed(learner: number, thrown: unknown): ArbalestError {
  const error = asError(thrown)
  const cause = error instanceof ArbalestError && error.code === 'ACTOR_GONE' && error.cause !== undefined ? asError(error.cause) : error
  return new ArbalestError(
    'LEARNER_FAILED',
    `learner ${learner}: it ended with ${cause.name}: ${cause.message}; the job cannot go on without it`,
    {
      cause,
      data: { learner }
    }
  )
}
