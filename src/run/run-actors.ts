import type { Evaluator, Pass, StatisticsPass } from '../actors/evaluator.js'
import type { SkippedSample } from '../actors/feeder.js'
import type { Learner, LearnerOptions, LearnerTask } from '../actors/learner.js'
import type { LearnerFailure } from '../actors/learner-failure.js'
import type { SpawnLearner } from '../actors/learner-slot.js'
import { Supervisor } from '../actors/supervisor.js'
import { Synchroniser } from '../actors/synchroniser.js'
import type { Dataset } from '../data/dataset.js'
import type { Engine, Handle } from '../engine/contract.js'
import { isGpu } from '../engine/gpu.js'
import { usableCores } from '../engine/machine.js'
import { elements } from '../model/graph.js'
import type { Model } from '../model/model.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import type { ActorSystem } from '../runtime/system.js'
import type { Resumption } from '../checkpoints/resume.js'
import { firstWeights } from './first-weights.js'
import { breakOff, startFeed, type Feed } from '../actors/feed.js'
import type { HandleScope } from '../engine/handle-scope.js'
import { trainingOptions, type ProgramPass, type Programs } from '../trained/programs.js'
import { sharedArenas } from './memory/shared-arenas.js'
import { scheduleOf } from './schedule.js'
import { type RunSettings } from './run-settings.js'
import { iterationSamples, type Settings } from '../options/settings.js'
import { averageOf } from '../options/average.js'
import { levelSpec } from './levels.js'
import { SourceMaker, type SourcePlan } from '../actors/sources.js'
import type { Trace } from '../observe/trace.js'

/** The modules that a run is made of; tests put fakes in their place. */
export interface RunModules {
  /** Exports `engine`. */
  readonly engine: URL
  /** Exports a learner, as its default or as `Learner`: the built-in one comes through the same door as any other. */
  readonly learner: URL
}

/** Where the actors of a run are made: in which engine, and who ends them. */
export interface Workplace {
  readonly engine: Engine
  readonly modules: RunModules
  readonly system: ActorSystem
  readonly handles: HandleScope
  readonly onFailure: (failure: LearnerFailure) => void
  /** Whether the others continue without a replacement of a learner that failed with this error. */
  readonly leavesVacant: (error: Error) => boolean
  readonly trace: Trace | undefined
  readonly skipped: (sample: SkippedSample) => void
}

/** The actors of a run, all started: the learners have joined the group and wait for the word. */
export interface Crew {
  readonly synchroniser: ActorRef<Synchroniser>
  readonly supervisor: ActorRef<Supervisor>
  readonly evaluators: readonly ActorRef<Evaluator>[]
  /** The first evaluator's replica, which holds the model that was measured last. */
  readonly evaluation: Handle
  readonly group: Handle
  readonly feed: Feed
  /** Seconds that all learners together have waited for data. */
  readonly dataWaited: () => number
}

const EVALUATOR = new URL('../actors/evaluator.js', import.meta.url)
const LEARNER = new URL('../actors/learner.js', import.meta.url)

/** Puts the data and the programs into the engine and starts the actors. Throws OUT_OF_MEMORY, LEARNER_FAILED and what they throw. */
export async function assembleCrew(
  model: Model,
  dataset: Dataset,
  programs: Programs,
  settings: RunSettings,
  plan: SourcePlan,
  workplace: Workplace,
  resumption?: Resumption
): Promise<Crew> {
  const { engine, modules, system, handles, onFailure, leavesVacant, skipped, trace } = workplace
  const { backend, learners, threads, seed, rule, devices } = settings
  const layout = programs.train.parameters
  const initial = await firstWeights(model, settings)
  const average = averageOf(settings.average, dataset.train.count)
  const synchroniser = await system.spawnLocal(
    Synchroniser,
    {
      engine,
      group: {
        backend,
        layout,
        initial,
        batch: iterationSamples(settings),
        rule,
        optimiser: programs.train.segments.update[0]!.attributes,
        ...(average && { average }),
        devices: devices.devices.length,
        levels: devices.levels.map(levelSpec)
      },
      ...(resumption && { resumes: resumption.group })
    },
    { name: 'synchroniser' }
  )
  const group = await synchroniser.ask.group()

  const passOf = ({ program, ...pass }: ProgramPass): Pass => ({ ...pass, program: handles.own(engine.createProgram(program)) })
  const statistics = programs.statistics && { ...passOf(programs.statistics), values: statisticsOf(programs.statistics) }
  const shares = sharesOf(programs.evaluate.map(passOf), evaluatorCount(settings))
  const sources = new SourceMaker(dataset, engine, handles).all(plan, shares.length)
  const feed = await startFeed(dataset, sources.lanes, { engine: modules.engine, seed, system, skipped })
  const replicas = shares.map(() => handles.own(engine.createReplica({ backend, layout, threads, seed })))
  breakOff(feed, replicas, engine)
  const evaluators = await Promise.all(
    shares.map((evaluate, i) => {
      const options = {
        engine: modules.engine.href,
        group,
        replica: replicas[i]!,
        train: sources.statistics,
        test: sources.tests[i]!,
        evaluate,
        ...(statistics && { statistics })
      }
      return system.spawn<typeof Evaluator>(EVALUATOR, 'Evaluator', options, { name: `evaluator ${i}` })
    })
  )

  const program = handles.own(engine.createProgram(programs.train))
  const bytes = programs.train.arenas.activations
  const arenas = sharedArenas(settings)?.map((count) => handles.own(engine.createArenas({ backend, bytes, count })))
  const task: LearnerTask = {
    model,
    step: programs.train,
    recipe: { ...trainingOptions(dataset, settings), parameters: layout },
    learners,
    samples: dataset.train.count,
    iterations: scheduleOf(settings, dataset.train.count).iterations
  }
  // The first learners, numbered by their ranks, have their states from the checkpoint; who comes later begins at the central model.
  const statesOf = (learner: number) => (learner < learners ? resumption?.learner(learner) : undefined)
  const resumed = (learner: number) => statesOf(learner) !== undefined
  const spawn: SpawnLearner = (spawner, learner, rank, heartbeat) => {
    const resumes = statesOf(learner)
    const device = rank % devices.devices.length
    const { cores } = devices.devices[device]!
    const options: LearnerOptions = {
      engine: modules.engine.href,
      module: modules.learner.href,
      options: settings.learnerOptions,
      replica: { backend, device, layout, threads, seed, group, learner, ...(arenas && { arenas: arenas[device]! }) },
      program,
      dataset: sources.train,
      task,
      rank,
      ...(cores.length > 0 && { cores }),
      heartbeat: heartbeat.memory,
      ...(resumes !== undefined && { resumes }),
      ...(trace && { trace: trace.learner(learner) })
    }
    const cancel = () => engine.evict(group, learner)
    return spawner.spawn<typeof Learner>(LEARNER, 'Learner', options, { name: `learner ${learner}`, cancel })
  }
  const dataWaited = () => (plan.train ? engine.streamStatus(sources.train).waitSeconds : 0)
  const { supervision } = settings
  const supervisor = await system.spawnLocal(
    Supervisor,
    { engine, group, learners, devices: devices.devices.length, supervision, spawn, onFailure, resumed, leavesVacant },
    { name: 'supervisor' }
  )
  await supervisor.askWith({ deadline: Infinity }).start()
  return { synchroniser, supervisor, evaluators, evaluation: replicas[0]!, group, feed, dataWaited }
}

/**
 * Learners rest while the central model is measured, so that its evaluators may have the cores of all of them. One keeps a GPU busy, and it is
 * the first GPU that measures.
 */
export function evaluatorCount(settings: Pick<Settings, 'population' | 'backend'>): number {
  return isGpu(settings.backend) ? 1 : Math.min(mostLearners(settings), usableCores())
}

/** That there will ever be at once. */
export function mostLearners({ population: { schedule, tuning } }: Pick<Settings, 'population'>): number {
  return tuning ? tuning.most : Math.max(...schedule.map((change) => change.learners))
}

/** Every pass dealt out in runs of whole steps, as evenly as they go; shares that would be empty are left out. */
export function sharesOf<P extends Omit<Pass, 'program'>>(passes: readonly P[], count: number): P[][] {
  const shares = Array.from({ length: count }, (_, share) =>
    passes.flatMap((pass) => {
      const from = Math.floor((pass.steps * share) / count)
      const steps = Math.floor((pass.steps * (share + 1)) / count) - from
      return steps === 0 ? [] : [{ ...pass, steps, position: pass.position + from * pass.batch }]
    })
  )
  return shares.filter(({ length }) => length > 0)
}

function statisticsOf({ program }: ProgramPass): StatisticsPass['values'] {
  return program.values.filter(({ role }) => role === 'statistic').map(({ name, shape }) => ({ name, elements: elements(shape) }))
}
