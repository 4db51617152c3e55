import { Evaluator, type Pass, type StatisticsPass } from '../actors/evaluator.js'
import type { Learner } from '../actors/learner.js'
import { Supervisor } from '../actors/supervisor.js'
import { Synchroniser } from '../actors/synchroniser.js'
import type { Dataset } from '../data/dataset.js'
import type { Engine, Handle } from '../engine/contract.js'
import { usableCores } from '../engine/machine.js'
import { initialParameters } from '../model/initialise.js'
import { buildGraph } from '../model/graph-builder.js'
import type { Model } from '../model/model.js'
import type { ActorRef } from '../runtime/ref.js'
import type { ActorSystem } from '../runtime/system.js'
import type { HandleScope } from './handle-scope.js'
import type { ProgramPass, Programs } from './programs.js'
import type { Settings } from './settings.js'

/** The modules that a run is made of; tests put fakes in their place. */
export interface RunModules {
  /** Exports `engine`. */
  readonly engine: URL
  /** Exports `Learner`. */
  readonly learner: URL
}

/** Where the actors of a run are made: in which engine, and who ends them. */
export interface Workplace {
  readonly engine: Engine
  readonly modules: RunModules
  readonly system: ActorSystem
  readonly handles: HandleScope
}

/** The actors of a run, all started: the learners have joined the group and wait for the word. */
export interface Crew {
  readonly synchroniser: ActorRef<Synchroniser>
  readonly supervisor: ActorRef<Supervisor>
  readonly evaluator: ActorRef<Evaluator>
  /** Holds the model that was measured last. */
  readonly evaluation: Handle
}

const EVALUATOR = new URL('../actors/evaluator.js', import.meta.url)

/** Puts the data and the programs into the engine and starts the actors. Throws OUT_OF_MEMORY, LEARNER_FAILED and what they throw. */
export async function assembleCrew(model: Model, dataset: Dataset, programs: Programs, settings: Settings, workplace: Workplace): Promise<Crew> {
  const { engine, modules, system, handles } = workplace
  const { backend, learners, threads, seed, batch, sma } = settings
  const layout = programs.train.parameters
  const train = handles.own(engine.createDataset(dataset.train))
  const test = handles.own(engine.createDataset(dataset.test))
  const initial = initialParameters(buildGraph(model, { batch: 1, mode: 'predict' }), seed)
  const synchroniser = await system.spawnHere(Synchroniser, { engine, group: { backend, layout, initial, batch, ...sma } }, { name: 'synchroniser' })
  const group = await synchroniser.ask.group()

  // Learners rest while the central model is measured: it may use the cores of all of them.
  const evaluationThreads = Math.min(learners * threads, usableCores())
  const evaluation = handles.own(engine.createReplica({ backend, layout, threads: evaluationThreads, seed }))
  const passOf = ({ program, ...pass }: ProgramPass): Pass => ({ ...pass, program: handles.own(engine.createProgram(program)) })
  const statistics = programs.statistics && { ...passOf(programs.statistics), values: statisticsOf(programs.statistics) }
  const evaluator = await system.spawn<typeof Evaluator>(
    EVALUATOR,
    'Evaluator',
    {
      engine: modules.engine.href,
      group,
      replica: evaluation,
      train,
      test,
      evaluate: programs.evaluate.map(passOf),
      classifies: dataset.classes > 0,
      ...(statistics && { statistics })
    },
    { name: 'evaluator' }
  )

  const program = handles.own(engine.createProgram(programs.train))
  const spawn = (learner: number): Promise<ActorRef<Learner>> => {
    const replica = { backend, layout, threads, seed, group, learner }
    const options = { engine: modules.engine.href, replica, program, dataset: train }
    return system.spawn<typeof Learner>(modules.learner, 'Learner', options, { name: `learner ${learner}` })
  }
  const supervisor = await system.spawnHere(Supervisor, { engine, group, learners, spawn }, { name: 'supervisor' })
  await supervisor.askWith({ deadline: Infinity }).start()
  return { synchroniser, supervisor, evaluator, evaluation }
}

function statisticsOf({ program }: ProgramPass): StatisticsPass['values'] {
  return program.values
    .filter(({ role }) => role === 'statistic')
    .map(({ name, shape }) => ({ name, elements: shape.reduce((sum, extent) => sum * extent, 1) }))
}
