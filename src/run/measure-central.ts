import type { JobScope } from '../actors/job-scope.js'
import { openDataForModel } from '../data/data-for-model.js'
import type { SavedModel } from '../formats/saved-model.js'
import { parameterTensors, type FloatTensors } from '../formats/tensor.js'
import { evaluate, type Measurement } from '../trained/evaluate.js'
import type { RunActors } from './start/run-actors.js'
import type { PreparedRun } from './prepare/prepare.js'

/** Reads the batch-norm statistics of the model that the evaluators' replica holds. */
export function statisticsReader(
  { programs: { predict } }: PreparedRun,
  { evaluators: { replica } }: RunActors,
  { engine, handles }: JobScope
): () => FloatTensors {
  const values = predict.values.filter(({ role }) => role === 'statistic')
  let slot: number | undefined
  const bound = () => (slot ??= engine.bind(replica, handles.own(engine.createProgram(predict))))
  return () =>
    Object.fromEntries(
      values.map(({ name, shape }) => [name, { shape, data: Float32Array.from(engine.readValue(replica, bound(), name)) }])
    )
}

/** The central model, with its statistics. The learners rest. */
export async function centralModel(
  { model, programs, dataset: { mean, std, classNames, encoding } }: PreparedRun,
  { evaluators }: RunActors,
  { engine }: JobScope,
  statistics: () => FloatTensors
): Promise<SavedModel> {
  await evaluators.takeCentral()
  const weights = parameterTensors(programs.train.parameters.parameters, engine.readVector(evaluators.replica, 'weights'))
  return {
    model,
    weights,
    statistics: statistics(),
    normalisation: { mean, std },
    ...(classNames && { classNames }),
    ...(encoding && { encoding })
  }
}

/** Measures the central model on the test samples of the data set of this name. Throws what `openDataForModel` throws, and SHAPE_MISMATCH. */
export async function measureCentralOn(
  data: string,
  run: PreparedRun,
  actors: RunActors,
  scope: JobScope,
  statistics: () => FloatTensors
): Promise<Measurement> {
  const { settings, model, programs, dataset: training } = run
  const { dataDir: directory, images } = settings
  const dataset = await openDataForModel(data, { ...training, ...model }, { directory, images })
  await actors.evaluators.takeCentral()
  const { engine, engineModule: module } = scope
  return evaluate(
    { engine, module, model, replica: actors.evaluators.replica, program: programs.predict, normalisation: training, moved: actors.moved },
    statistics(),
    dataset
  )
}
