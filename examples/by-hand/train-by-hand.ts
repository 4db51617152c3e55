import { createHash } from 'node:crypto'
import type { Model, StoredDataset } from 'arbalest'
import {
  BUILT_IN_LEARNER_MODULE,
  compile,
  engine,
  ENGINE_MODULE,
  EVALUATOR_MODULE,
  initialParametersInTurns,
  LEARNER_MODULE,
  loweringBackend,
  predictionGraph,
  sma,
  Supervisor,
  Synchroniser,
  type Evaluator,
  type Learner,
  type LearnerOptions,
  type RoundFigures,
  type SpawnLearner
} from 'arbalest/actors'
import { ActorSystem } from 'arbalest/runtime'

export interface TrainedByHand {
  readonly weightsSha256: string
  readonly testAccuracy: number
  /** The loss of each round. */
  readonly losses: readonly number[]
}

const BACKEND = 'cpu'
const SEED = 1

/** Trains by synchronous model averaging as `train` does, from nothing but actors and an engine. Halves the rate at half-time. */
export async function trainByHand(
  model: Model,
  data: StoredDataset,
  { learners = 2, batch = 8, steps = 200, learningRate = 0.1 } = {}
): Promise<TrainedByHand> {
  // Programs: the training step, and another over the same weights that measures them.
  const backend = loweringBackend(engine, BACKEND)
  const { mean, std, train, test } = data
  const optimiser = { momentum: 0.9, weightDecay: 0.0001 }
  const recipe = { batch, precision: 'f32', optimiser, load: { mean, std, shuffled: true } } as const
  const step = compile(model, backend, { ...recipe, mode: 'train' })
  const { parameters: layout } = step
  const measuring = compile(model, backend, {
    batch: test.count,
    precision: 'f32',
    load: { mean, std },
    mode: 'evaluate',
    parameters: layout
  })

  // What lies in the engine's memory, of which actors post the handles alone.
  const [program, measure] = [step, measuring].map((each) => engine.createProgram(each)) as [number, number]
  const [samples, held] = [train, test].map((each) => engine.createDataset(each)) as [number, number]
  const replica = engine.createReplica({ backend: BACKEND, layout, threads: 1, seed: SEED })

  await using system = new ActorSystem()
  const initial = await initialParametersInTurns(predictionGraph(model), SEED)
  const group = { backend: BACKEND, layout, initial, batch, rule: sma({}, { learners }) } as const
  const synchroniser = await system.spawnLocal(Synchroniser, { engine, group }, { name: 'synchroniser' })
  const handle = await synchroniser.ask.group()
  await synchroniser.ask.follow({ learningRates: [{ from: 0, rates: Float32Array.of(learningRate) }], restarts: [], iterations: steps })

  const task = { model, step, recipe: { ...recipe, parameters: layout }, learners, samples: train.count, iterations: steps }
  const spawn: SpawnLearner = (spawner, learner, rank, heartbeat) => {
    const options: LearnerOptions = {
      engine: ENGINE_MODULE.href,
      module: BUILT_IN_LEARNER_MODULE.href,
      options: undefined,
      replica: { backend: BACKEND, layout, threads: 1, seed: SEED, group: handle, learner },
      program,
      dataset: samples,
      task,
      rank,
      heartbeat: heartbeat.memory
    }
    const cancel = () => engine.evict(handle, learner)
    return spawner.spawn<typeof Learner>(LEARNER_MODULE, 'Learner', options, { name: `learner ${learner}`, cancel })
  }
  const supervision = { restarts: 3, window: 60_000, deadline: 60_000 }
  const supervisor = await system.spawnLocal(Supervisor, { engine, group: handle, learners, supervision, spawn }, { name: 'supervisor' })
  const evaluator = await system.spawn<typeof Evaluator>(
    EVALUATOR_MODULE,
    'Evaluator',
    {
      engine: ENGINE_MODULE.href,
      group: handle,
      replica,
      test: held,
      evaluate: [{ program: measure, steps: 1, batch: test.count, position: 0 }]
    },
    { name: 'evaluator' }
  )

  // The run: all train, rest half-way for another rate, and train on.
  await supervisor.ask.start()
  const rounds: RoundFigures[] = []
  const known = synchroniser.ask.roundsAfter(-1).then((figures) => rounds.push(...figures))
  await synchroniser.ask.pauseAt(steps / 2)
  await supervisor.askWith({ deadline: Infinity }).train()
  await synchroniser.ask.set({ learningRate: { factor: 0.5 } })
  await synchroniser.ask.resume()
  await supervisor.askWith({ deadline: Infinity }).train()
  await known
  rounds.push(...(await synchroniser.ask.roundsAfter(rounds.at(-1)!.round)))

  const { correct, samples: measured } = await evaluator.ask.measure()
  const weights = Float32Array.from(await synchroniser.ask.centralVector())
  const weightsSha256 = createHash('sha256').update(new Uint8Array(weights.buffer)).digest('hex')
  await supervisor.ask.close()
  return { weightsSha256, testAccuracy: correct / measured, losses: rounds.map(({ loss }) => loss) }
}
