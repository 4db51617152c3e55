import type { Evaluators, TestScores } from '../../actors/evaluators.js'
import type { Feed } from '../../actors/feed.js'
import type { Supervisor } from '../../actors/supervisor.js'
import type { Synchroniser } from '../../actors/synchroniser.js'
import type { Handle, StreamStatus } from '../../engine/contract.js'
import type { SynchroniserStatus } from '../../protocols/protocols.js'
import type { ActorRef } from '../../runtime/actor-ref.js'
import type { HostLearners } from '../hosts/learners-of-hosts.js'

/** The actors of a run. */
export interface RunActors {
  readonly synchroniser: ActorRef<Synchroniser>
  /** Its status at once, without a message; undefined if a class of the user's own answers that. */
  readonly status: (() => SynchroniserStatus) | undefined
  readonly supervisor: ActorRef<Supervisor>
  /** Those of all hosts on the first one; of this process on the others. */
  readonly learners: HostLearners
  readonly evaluators: Evaluators
  /** Measures the central model on all test samples, which the hosts share out. Call it while the learners rest. */
  readonly measure: () => Promise<TestScores>
  /** On the first host: goes on without another one, whose share of the test samples this one measures from now on. The learners rest. */
  readonly loseHost: (rank: number) => Promise<void>
  readonly feed: Feed
  /** The group of learners in the engine. */
  readonly group: Handle
  /** Seconds for which all learners together have waited for data. */
  readonly dataWaited: () => number
  /** The second tier in which all vectors of the run lie; undefined if some lie on the device. */
  readonly moved: Handle | undefined
  /** Of the training samples' stream; absent where they lie in memory. */
  readonly feedStatus: (() => StreamStatus) | undefined
}
