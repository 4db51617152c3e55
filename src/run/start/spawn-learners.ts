import type { JobScope } from '../../actors/job-scope.js'
import type { Learner, LearnerOptions, LearnerTask } from '../../actors/learner.js'
import type { SpawnLearner } from '../../actors/learner-slot.js'
import type { Sources } from '../../actors/sources.js'
import type { Handle, MovedVectorsUse } from '../../engine/contract.js'
import type { LogLine } from '../../learner/learner-log.js'
import type { RunCall } from '../../protocols/run-ref.js'
import { transfer } from '../../runtime/cloneable.js'
import { answeredPort, sendingPort } from '../../runtime/port.js'
import { messagesTo } from '../../schedules/interventions.js'
import { ownSettings } from '../hosts/meeting.js'
import type { LearnerPlaces } from './learner-places.js'
import { tierOf } from '../memory/moved-vectors.js'
import { sharedArenas } from '../memory/shared-arenas.js'
import type { PreparedRun } from '../prepare/prepare.js'
import { trainingOptions } from '../prepare/programs.js'
import type { RunHooks } from './run-hooks.js'

/** What learners work with. */
export interface LearnerParts {
  readonly group: Handle
  readonly sources: Sources
  readonly moved: MovedVectorsUse | undefined
}

const LEARNER = new URL('../../actors/learner.js', import.meta.url)

/** Puts the training step into the engine, and the arenas in which the learners compute. Returns what spawns them. `module` exports the learner. */
export function learnerSpawner(
  run: PreparedRun,
  module: URL,
  scope: JobScope,
  { trace, logged, fromLearner, shared, arenas: ofAllJobs }: RunHooks,
  { group, sources, moved, places }: LearnerParts & { readonly places: LearnerPlaces }
): SpawnLearner {
  const { programs, resumption } = run
  const { engine, engineModule, handles } = scope
  const settings = ownSettings(run.hosts, run.settings)
  const { backend, threads, seed, changes } = settings
  const { devices } = settings.devices
  const tier = tierOf(settings)
  const program = handles.own(engine.createProgram(programs.train))
  const arenas = ofAllJobs === undefined ? ownArenas(run, scope) : [ofAllJobs]
  const task = taskOf(run, moved)
  return async (spawner, learner, rank, heartbeat) => {
    const resumes = places.stateFile(learner)
    const device = rank % devices.length
    const { cores } = devices[device]!
    const options: LearnerOptions = {
      engine: engineModule.href,
      module: module.href,
      options: settings.learnerOptions,
      replica: {
        backend,
        device,
        layout: programs.train.parameters,
        threads,
        seed,
        group,
        learner,
        tier,
        ...(moved && { moved }),
        ...(arenas && { arenas: arenas[device]! }),
        ...(shared && { lease: shared.lease, job: shared.job })
      },
      program,
      dataset: sources.train,
      task,
      rank: places.inRun(rank),
      number: places.inRun(learner),
      ...(cores.length > 0 && { cores }),
      heartbeat: heartbeat.memory,
      ...(resumes !== undefined && { resumes, messages: messagesTo(places.inRun(rank), changes, { before: resumption?.state.round }) }),
      ...(trace && { trace: trace.learner(learner) })
    }
    const cancel = () => engine.evict(group, learner)
    const way = fromLearner && answeredPort((call) => fromLearner(call as RunCall)).port
    const whole = way ? transfer({ ...options, actors: way }, [way]) : options
    const ref = await spawner.spawn<typeof Learner>(LEARNER, 'Learner', whole, { name: `learner ${learner}`, cancel })
    if (settings.learner) ref.tell.logTo(sendingPort(([iteration, metrics]: LogLine) => logged(places.inRun(learner), iteration, metrics)))
    return ref
  }
}

/** The arenas of each device; undefined if each learner has activations of its own. */
function ownArenas({ programs, settings: all, hosts }: PreparedRun, { engine, handles }: JobScope): readonly Handle[] | undefined {
  const settings = ownSettings(hosts, all)
  const { activations: bytes, staged } = programs.train.arenas
  return sharedArenas(engine, settings)?.map((count) =>
    handles.own(
      engine.createArenas({
        backend: settings.backend,
        sizes: Array.from({ length: count }, () => bytes),
        staged,
        tier: tierOf(settings)
      })
    )
  )
}

function taskOf({ model, dataset, programs, settings, schedule }: PreparedRun, moved: MovedVectorsUse | undefined): LearnerTask {
  return {
    model,
    step: programs.train,
    recipe: {
      ...trainingOptions(model, dataset, settings),
      parameters: programs.train.parameters,
      ...(moved?.all && { vectors: 'host' as const })
    },
    learners: settings.learners,
    samples: dataset.train.count,
    iterations: schedule.iterations
  }
}
