import type { Handle } from '../../engine/contract.js'
import type { LearnerSnapshots } from '../captured-learners.js'
import type { CapturedHost } from './leader.js'
import { inMeetingOrder } from './meeting-order.js'
import type { RunHost } from './run-host.js'

/** The states of all learners of a run: snapshots of those of this host, the bytes of files of the others. */
export interface AllLearners {
  /** By place; null for a learner that has died, or that has not begun. */
  readonly learners: readonly (Handle | Uint8Array | null)[]
  /** The places in the order in which the learners meet. */
  readonly order: readonly number[]
}

/** `others` are by rank, from 1 on. */
export function allLearners(host: RunHost, own: LearnerSnapshots, others: readonly CapturedHost[]): AllLearners {
  const meets = [own.order.map((each) => host.placeOf(each)), ...others.map((each) => each.meets)]
  const files = new Map(others.flatMap((each) => [...each.files]))
  const snapshots = new Map(own.learners.map((learner, each) => [host.placeOf(each), learner]))
  const places = meets.flat().sort((a, b) => a - b)
  return {
    learners: places.map((place) => snapshots.get(place) ?? files.get(place) ?? null),
    order: inMeetingOrder(meets)
  }
}
