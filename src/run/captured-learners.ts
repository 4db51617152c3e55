import type { Supervisor } from '../actors/supervisor.js'
import type { Engine, Handle } from '../engine/contract.js'
import type { ActorRef } from '../runtime/actor-ref.js'

/** Snapshots of the learners of this process while they rest. */
export interface LearnerSnapshots {
  /** By rank; null for a learner that has died, or that has not begun and so has no state of its own. */
  readonly learners: readonly (Handle | null)[]
  /** The ranks by the learners' numbers, in which they meet; those that have died come last. */
  readonly order: readonly number[]
}

/** `counts` are those of the group's snapshot. `keep` is called for each snapshot, which the caller releases. */
export async function capturedLearners(
  engine: Engine,
  supervisor: ActorRef<Supervisor>,
  counts: Readonly<Record<string, number>>,
  keep: (snapshot: Handle) => Handle
): Promise<LearnerSnapshots> {
  const replicas = await supervisor.askWith({ deadline: Infinity }).replicas()
  const number = (rank: number) => replicas[rank]?.learner ?? Infinity
  const order = [...replicas.keys()].sort((a, b) => (number(a) < number(b) ? -1 : number(a) > number(b) ? 1 : a - b))
  const learners = replicas.map((found) => {
    if (!found || counts[`fresh.${found.learner}`] !== 0) return null
    try {
      return keep(engine.captureReplica(found.replica))
    } finally {
      // The capture made this thread an owner of the replica; the learner shall be the only one.
      engine.release(found.replica)
    }
  })
  return { learners, order }
}
