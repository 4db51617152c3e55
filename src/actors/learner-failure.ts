import { ArbalestError } from '../errors.js'
import type { SupervisionSettings } from '../options/supervision.js'
import { placeInOwnFile } from '../own-module.js'
import { asError } from '../runtime/errors-across-threads.js'
import type { ExitReason } from '../runtime/exit-reason.js'

/** A learner that failed, and what its supervisor did about it. */
export interface LearnerFailure {
  readonly learner: number
  readonly rank: number
  readonly error: Error
  /** The group's round and iteration at the failure. */
  readonly round: number
  readonly iteration: number
  /** The learner that replaces it; null if there is none, because of too many failures or because the slot stays vacant. */
  readonly replacedBy: number | null
  /** Whether its slot stays empty while the others continue. */
  readonly vacant: boolean
}

export type RestartLimits = Pick<SupervisionSettings, 'restarts' | 'window'>

/** Counts the restarts in one learner slot. The limits are those of an Erlang/OTP supervisor's restart intensity. */
export class RestartCounter {
  readonly #limits: RestartLimits
  #times: number[] = []

  constructor(limits: RestartLimits) {
    this.#limits = limits
  }

  /** Whether the limits allow a restart at `now` (milliseconds). A restart that is allowed is counted. */
  allows(now: number): boolean {
    this.#times = this.#times.filter((time) => now - time < this.#limits.window)
    if (this.#times.length >= this.#limits.restarts) return false
    this.#times.push(now)
    return true
  }
}

/** Why a learner's actor ended: its own error, if it could report one. */
export function errorOfExit(learner: number, reason: ExitReason): Error {
  if (reason.kind === 'failed') return reason.error
  const how = reason.kind === 'stopped' ? 'it was stopped' : `its thread ended with code ${reason.code}`
  return new ArbalestError('ACTOR_GONE', `learner ${learner}: ${how}`, { data: { learner } })
}

/** Why a call of a learner's method has no answer, in the words of the run: the runtime knows neither the method nor the option of the deadline. Other errors stay as they are. */
export function unanswered(
  error: unknown,
  call: { readonly learner: number; readonly method: string; readonly deadline: number }
): unknown {
  if (!(error instanceof ArbalestError)) return error
  const { learner, method, deadline } = call
  const refused = (why: string) =>
    new ArbalestError(error.code, `learner ${learner}: ${method}: ${why}`, { cause: error.cause, data: call })
  if (error.code === 'DEADLINE_EXCEEDED')
    return refused(`no answer within ${deadline} ms; let the method end sooner, or allow a longer supervision.deadline`)
  return error.code === 'ACTOR_GONE'
    ? refused('it has died of this message, or before it; ask again once another has taken its place')
    : error
}

/** What fails for all learners, and for any successor: the link between hosts, or the file to which they move values. */
export function failsAll(error: Error): boolean {
  if (!(error instanceof ArbalestError)) return false
  const { code, message } = error
  return code === 'HOST_LOST' || code === 'HOSTS_DIFFER' || (code === 'WRITE_FAILED' && message.startsWith('spill: '))
}

export function cannotStart(learner: number, thrown: unknown): ArbalestError {
  const cause = asError(thrown)
  const message = `learner ${learner}: it cannot be started: ${describeError(cause)}`
  return new ArbalestError('LEARNER_FAILED', message, { cause, data: { learner } })
}

/** A slot's learners have failed more often than the limits allow. `first` and `last` are their first and their last error. */
export function tooManyFailures(learner: number, rank: number, first: Error, last: Error, limits: RestartLimits): ArbalestError {
  const [firstError, lastError] = [describeError(first), describeError(last)]
  const how =
    firstError === lastError
      ? `it and the first in its place ended with ${lastError}`
      : `it ended with ${lastError}; the first in its place with ${firstError}`
  const message =
    `learner ${learner}: ${how}; too many to go on ` +
    `(${limits.restarts} restarts within ${limits.window} ms, or two failures before a first step)`
  return new ArbalestError('LEARNER_FAILED', message, { cause: first, data: { learner, rank, first: firstError, last: lastError } })
}

/** An error in a few words, with its place in a learner of the user's own. The message of an ArbalestError needs no class name. */
export function describeError(error: Error): string {
  const what = error instanceof ArbalestError ? error.message : `${error.name}: ${error.message}`
  const place = placeInOwnFile(error)
  return place === undefined ? what : `${what} (at ${place})`
}
