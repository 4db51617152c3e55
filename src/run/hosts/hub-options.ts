import type { RefusedMessages } from '../../engine/contract.js'
import type { ErrorCode } from '../../errors.js'
import { group, option } from '../../schema/group.js'
import { abortSignal, callable } from '../../schema/values.js'

/** How a hub is stopped, and whom it tells. */
export interface HubOptions {
  /** When it aborts, each run ends at its next round. */
  readonly signal?: AbortSignal | undefined
  /** Called for each of several jobs when it has ended. */
  readonly onServed?: ((served: ServedEvent) => void) | undefined
}

export const hubOptions = group({ signal: option(abortSignal()), onServed: option(callable<NonNullable<HubOptions['onServed']>>()) })

/** A hub has served one of its jobs to its end. */
export interface ServedEvent {
  readonly event: 'served'
  /** Its number among the jobs that share the hub, from 0. */
  readonly job: number
  /** Messages that were not this job's, by what was wrong with them. None of them has changed anything. */
  readonly refused: RefusedMessages
  /** Why the job has ended, unless it was completed or stopped. The other jobs go on. */
  readonly failed?: { readonly code: ErrorCode; readonly message: string }
}
