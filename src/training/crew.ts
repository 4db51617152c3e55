import type { Evaluator, Pass, StatisticsPass } from '../actors/evaluator.js'
import type { Learner, LearnerOptions, LearnerTask } from '../actors/learner.js'
import type { Loss, SpawnLearner } from '../actors/place.js'
import { Supervisor } from '../actors/supervisor.js'
import { Synchroniser } from '../actors/synchroniser.js'
import type { Dataset } from '../data/dataset.js'
import type { Engine, Handle } from '../engine/contract.js'
import { usableCores } from '../engine/machine.js'
import { withoutOperators } from '../model/composed.js'
import { initialParameters } from '../model/initialise.js'
import { buildGraph } from '../model/graph-builder.js'
import type { Model } from '../model/model.js'
import type { ActorRef } from '../runtime/ref.js'
import type { ActorSystem } from '../runtime/system.js'
import type { HandleScope } from './handle-scope.js'
import { trainingOptions, type ProgramPass, type Programs } from './programs.js'
import { scheduleOf } from './schedule.js'
import type { Settings } from './settings.js'

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
  readonly lost: (loss: Loss) => void
}

/** The actors of a run, all started: the learners have joined the group and wait for the word. */
export interface Crew {
  readonly synchroniser: ActorRef<Synchroniser>
  readonly supervisor: ActorRef<Supervisor>
  readonly evaluators: readonly ActorRef<Evaluator>[]
  /** The first evaluator's replica, which holds the model that was measured last. */
  readonly evaluation: Handle
}

const EVALUATOR = new URL('../actors/evaluator.js', import.meta.url)
const LEARNER = new URL('../actors/learner.js', import.meta.url)

/** Puts the data and the programs into the engine and starts the actors. Throws OUT_OF_MEMORY, LEARNER_FAILED and what they throw. */
export async function assembleCrew(
  model: Model,
  dataset: Dataset,
  programs: Programs,
  settings: Settings,
  workplace: Workplace
): Promise<Crew> {
  const { engine, modules, system, handles, lost } = workplace
  const { backend, learners, threads, seed, batch, sma } = settings
  const layout = programs.train.parameters
  const train = handles.own(engine.createDataset(dataset.train))
  const test = handles.own(engine.createDataset(dataset.test))
  const initial = initialParameters(buildGraph(model, { batch: 1, mode: 'predict' }), seed)
  const synchroniser = await system.spawnHere(
    Synchroniser,
    { engine, group: { backend, layout, initial, batch, ...sma } },
    { name: 'synchroniser' }
  )
  const group = await synchroniser.ask.group()

  const passOf = ({ program, ...pass }: ProgramPass): Pass => ({ ...pass, program: handles.own(engine.createProgram(program)) })
  const statistics = programs.statistics && { ...passOf(programs.statistics), values: statisticsOf(programs.statistics) }
  const shares = sharesOf(programs.evaluate.map(passOf), evaluatorCount(settings))
  const replicas = shares.map(() => handles.own(engine.createReplica({ backend, layout, threads, seed })))
  const evaluators = await Promise.all(
    shares.map((evaluate, i) => {
      const options = {
        engine: modules.engine.href,
        group,
        replica: replicas[i]!,
        train,
        test,
        evaluate,
        ...(statistics && { statistics })
      }
      return system.spawn<typeof Evaluator>(EVALUATOR, 'Evaluator', options, { name: `evaluator ${i}` })
    })
  )

  const program = handles.own(engine.createProgram(programs.train))
  const task: LearnerTask = {
    model: withoutOperators(model),
    step: programs.train,
    recipe: { ...trainingOptions(dataset, settings), parameters: layout },
    learners,
    samples: dataset.train.count,
    iterations: scheduleOf(settings, dataset.train.count).iterations
  }
  const spawn: SpawnLearner = (spawner, learner, rank, pulse) => {
    const options: LearnerOptions = {
      engine: modules.engine.href,
      module: modules.learner.href,
      options: settings.learnerOptions,
      replica: { backend, layout, threads, seed, group, learner },
      program,
      dataset: train,
      task,
      rank,
      pulse: pulse.memory
    }
    const cancel = () => engine.evict(group, learner)
    return spawner.spawn<typeof Learner>(LEARNER, 'Learner', options, { name: `learner ${learner}`, cancel })
  }
  const { supervision } = settings
  const supervisor = await system.spawnHere(Supervisor, { engine, group, learners, supervision, spawn, lost }, { name: 'supervisor' })
  await supervisor.askWith({ deadline: Infinity }).start()
  return { synchroniser, supervisor, evaluators, evaluation: replicas[0]! }
}

/** Learners rest while the central model is measured, so that its evaluators may have the cores of all of them. */
export function evaluatorCount({ learners }: Pick<Settings, 'learners'>): number {
  return Math.min(learners, usableCores())
}

/** Every pass dealt out in runs of whole steps, as evenly as they go; shares that would be empty are left out. */
export function sharesOf(passes: readonly Pass[], count: number): Pass[][] {
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
  return program.values
    .filter(({ role }) => role === 'statistic')
    .map(({ name, shape }) => ({ name, elements: shape.reduce((sum, extent) => sum * extent, 1) }))
}
