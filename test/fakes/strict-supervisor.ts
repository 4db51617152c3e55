import { Supervisor } from '../../src/actors/supervisor.js'
import { ArbalestError } from '../../src/errors.js'
import type { DeferredReply } from '../../src/runtime/actor.js'
import type { RunPlace } from '../../src/schedules/interventions.js'

/** Refuses more than two learners. */
export default class StrictSupervisor extends Supervisor {
  override resize(learners: number): DeferredReply<RunPlace> {
    if (learners > 2) throw new ArbalestError('INVALID_STATE', `learners: received ${learners}; this supervisor has two at most`)
    return super.resize(learners)
  }
}
