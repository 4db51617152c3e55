import type { JobScope } from '../../actors/job-scope.js'
import { actorClass } from '../../actors/own-actor.js'
import { Supervisor } from '../../actors/supervisor.js'
import type { ActorRef } from '../../runtime/actor-ref.js'
import { ownSettings } from '../hosts/meeting.js'
import { StoppedEarly } from '../stopped-early.js'
import { LearnerPlaces } from './learner-places.js'
import type { PreparedRun } from '../prepare/prepare.js'
import type { RunHooks } from './run-hooks.js'
import { learnerSpawner, type LearnerParts } from './spawn-learners.js'

/** Starts the supervisor and its learners, which have joined the group when this resolves. `learnerModule` exports the learner. Throws what `start` of the supervisor throws, and a StoppedEarly. */
export async function startSupervisor(
  run: PreparedRun,
  learnerModule: URL,
  scope: JobScope,
  hooks: RunHooks,
  parts: LearnerParts
): Promise<ActorRef<Supervisor>> {
  const { learners, supervision, devices, supervisor: module } = ownSettings(run.hosts, run.settings)
  const { onFailure, record, leavesVacant, control, stop, decisions } = hooks
  const places = new LearnerPlaces(learners, run.resumption, run.hosts?.host)
  const spawn = learnerSpawner(run, learnerModule, scope, hooks, { ...parts, places })
  const supervisor = await scope.system.spawnLocal(
    await actorClass(Supervisor, 'supervisor', module),
    {
      engine: scope.engine,
      group: parts.group,
      learners,
      devices: devices.devices.length,
      supervision,
      spawn,
      onFailure,
      record,
      isAwaiting: (place) => record.isAwaiting(place),
      resumed: (learner) => places.stateFile(learner) !== undefined,
      leavesVacant,
      control,
      ...(stop && { stop }),
      decisions,
      numberOf: (place) => places.numberOf(place)
    },
    { name: 'supervisor' }
  )
  try {
    await supervisor.askWith({ deadline: Infinity }).start()
  } catch (error) {
    throw stop?.aborted ? new StoppedEarly() : error
  }
  return supervisor
}
