import type { SkippedSample } from '../../actors/feeder.js'
import type { LearnerFailure } from '../../actors/learner-failure.js'
import type { MembershipRecord } from '../../actors/learner-slot.js'
import type { Handle } from '../../engine/contract.js'
import type { PopulationEvent } from '../../observe/events.js'
import type { LoggedMetrics } from '../../observe/logged-metrics.js'
import type { Trace } from '../../observe/trace.js'
import type { RunControl } from '../../protocols/protocols.js'
import type { SendCall } from '../../protocols/run-ref.js'
import type { SharedDevice } from './shared-device.js'

/** What a run does with the reports of its actors. */
export interface RunHooks {
  readonly trace: Trace | undefined
  readonly onFailure: (failure: LearnerFailure) => void
  /** Learners that die, and their successors. */
  readonly record: MembershipRecord & { isAwaiting(place: number): boolean }
  /** Whether the other learners go on without a replacement of one that failed with this error. */
  readonly leavesVacant: (error: Error) => boolean
  readonly skipped: (sample: SkippedSample) => void
  /** Called with what a learner of the user's own logs. */
  readonly logged: (learner: number, iteration: number, metrics: LoggedMetrics) => void
  /** Where programs ask for changes. */
  readonly control: RunControl
  /** Aborted when the run is to end: then its learners need not start. Absent over hosts, where the others wait for this one. */
  readonly stop: AbortSignal | undefined
  /** What was decided about the number of learners so far. */
  readonly decisions: () => readonly PopulationEvent[]
  /** Delivers what learners send to other actors of the run; absent where they send nothing. */
  readonly fromLearner: SendCall | undefined
  /** The device that the run shares with other jobs, if it does. */
  readonly shared: SharedDevice | undefined
  /** The arenas that those jobs share; undefined if they have their own. */
  readonly arenas: Handle | undefined
}
