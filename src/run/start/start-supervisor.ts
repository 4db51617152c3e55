import type { JobScope } from '../../actors/job-scope.js'
import { actorClass, type NeededAnswer } from '../../actors/own-actor.js'
import { Supervisor } from '../../actors/supervisor.js'
import { isObject } from '../../errors.js'
import { moduleRefusal } from '../../own-module.js'
import type { ActorRef } from '../../runtime/actor-ref.js'
import { ownSettings } from '../hosts/meeting.js'
import { StoppedEarly } from '../stopped-early.js'
import { LearnerPlaces } from './learner-places.js'
import type { PreparedRun } from '../prepare/prepare.js'
import type { RunHooks } from './run-hooks.js'
import { learnerSpawner, type LearnerParts } from './spawn-learners.js'

/** What the run reads of the answers of its supervisor. */
const ANSWERS = {
  population: { what: 'learners and places', holds: (answer) => isObject(answer) && Array.isArray(answer['places']) },
  replicas: { what: 'a list of the learners that run', holds: (answer) => Array.isArray(answer) },
  replaceNow: { what: 'the number of the new learner', holds: (answer) => typeof answer === 'number' },
  messageNow: { what: 'an answer or an error', holds: (answer) => isObject(answer) && ('answer' in answer || 'error' in answer) }
} as const satisfies Partial<Record<keyof Supervisor, NeededAnswer>>

/** What is wrong with a supervisor of the user's own that answers as if its learners had started. */
const STARTS_NONE = 'its method start answers, and no learner has started; let it await super.start()'

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
  const spawnLearner = learnerSpawner(run, learnerModule, scope, hooks, { ...parts, places })
  let isSpawned = false
  const spawn: typeof spawnLearner = (...about) => {
    isSpawned = true
    return spawnLearner(...about)
  }
  const supervisor = await scope.system.spawnLocal(
    await actorClass(Supervisor, 'supervisor', module, ANSWERS),
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
  if (module && !isSpawned && !record.isAwaiting(0)) throw moduleRefusal({ parameter: 'supervisor', module: module.href }, STARTS_NONE)
  return supervisor
}
