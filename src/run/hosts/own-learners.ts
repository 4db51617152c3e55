import type { Evaluators } from '../../actors/evaluators.js'
import type { Supervisor } from '../../actors/supervisor.js'
import type { Synchroniser } from '../../actors/synchroniser.js'
import type { ActorRef } from '../../runtime/actor-ref.js'
import type { HostLearners } from './learners-of-hosts.js'

/** The actors of a process that answer what is asked of its learners. */
export interface OwnLearnersActors {
  readonly synchroniser: ActorRef<Synchroniser>
  readonly supervisor: ActorRef<Supervisor>
  readonly evaluators: Evaluators
}

/** The learners of this process. */
export function ownLearners({ synchroniser, supervisor, evaluators }: OwnLearnersActors): HostLearners {
  const asks = supervisor.askWith({ deadline: Infinity })
  return {
    population: () => asks.population(),
    prepare: (learners) => asks.prepare(learners),
    resizeNow: (learners) => asks.resizeNow(learners),
    replaceNow: (place) => asks.replaceNow(place),
    messageNow: (place, method, args) => asks.messageNow(place, method, args),
    repeatNow: (place, messages) => asks.repeatNow(place, messages),
    figuresAfter: (round) => synchroniser.askWith({ deadline: Infinity }).roundsAfter(round),
    findings: () => evaluators.findings()
  }
}
