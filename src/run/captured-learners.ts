import type { Supervisor } from '../actors/supervisor.js'
import type { Engine, Handle } from '../engine/contract.js'
import type { ActorRef } from '../runtime/actor-ref.js'

/** Snapshots of the learners of this process while they rest. */
export interface LearnerSnapshots {
  /** By rank; null for a learner that has died, or that has not begun and so has no state of its own. */
  readonly learners: readonly (Handle | null)[]
  /** The ranks in the order in which their learners meet; those that have died come last. */
  readonly order: readonly number[]
}

/** Of the group's members. `counts` are those of the group's snapshot. `keep` is called for each snapshot, which the caller releases. */
export async function capturedLearners(
  engine: Engine,
  { supervisor, group }: { readonly supervisor: ActorRef<Supervisor>; readonly group: Handle },
  counts: Readonly<Record<string, number>>,
  keep: (snapshot: Handle) => Handle
): Promise<LearnerSnapshots> {
  const replicas = await supervisor.askWith({ deadline: Infinity }).replicas()
  const { members } = engine.groupStatus(group)
  const lost = [...replicas.keys()].filter((rank) => !members.includes(replicas[rank]?.learner ?? -1))
  const order = [
    ...members.map((learner) => replicas.findIndex((found) => found?.learner === learner)).filter((rank) => rank >= 0),
    ...lost
  ]
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
