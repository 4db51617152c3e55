import { loadEngine } from '../actors/engine-module.js'
import { worded, type Loss } from '../actors/place.js'
import type { Dataset } from '../data/dataset.js'
import { openDataset } from '../data/open.js'
import type { Engine } from '../engine/contract.js'
import { loweringBackend } from '../engine/lowering.js'
import { ArbalestError } from '../errors.js'
import type { Model } from '../model/model.js'
import { withOperators } from '../model/composed.js'
import { modelNamed } from '../model/zoo/index.js'
import { showLive } from '../runtime/live/serve.js'
import { ActorSystem } from '../runtime/system.js'
import { Course } from './course.js'
import { assembleCrew, evaluatorCount, type Crew, type RunModules, type Workplace } from './crew.js'
import type { LearnerLostEvent, StartedEvent } from './events.js'
import { HandleScope } from './handle-scope.js'
import type { JobControl, JobOutcome } from './job.js'
import { checkMemory, memoryNeed, type MemoryNeed } from './memory.js'
import { programsOf, type Programs } from './programs.js'
import { scheduleOf, type Schedule } from './schedule.js'
import type { Settings } from './settings.js'
import { TrainedModel } from './trained-model.js'

/** One run, from settings to the trained model. Every thread that it starts has ended when it returns or throws. */
export async function run(settings: Settings, modules: RunModules, control: JobControl): Promise<JobOutcome> {
  const engine = await loadEngine(modules.engine.href)
  checkPrecision(engine, settings)
  const dataset = typeof settings.data === 'string' ? await openDataset(settings.data, { directory: settings.dataDir }) : settings.data
  const plain =
    typeof settings.model === 'string' ? modelNamed(settings.model, { input: dataset.sample, classes: dataset.classes }) : settings.model
  const model = await withOperators(plain)
  const programs = programsOf(model, dataset, settings, loweringBackend(engine, settings.backend))
  const need = memoryOf(programs, dataset, settings)
  checkMemory(need, settings.learners, engine.describe().freeMemory)

  const lost = (loss: Loss) => control.emit(lostEvent(loss))
  const workplace = { engine, modules, system: new ActorSystem(), handles: new HandleScope(engine), lost }
  using _live = showLive(`${model.name} on ${dataset.name}`, () => workplace.system.snapshot())
  let crew: Crew | undefined
  try {
    crew = await assembleCrew(model, dataset, programs, settings, workplace)
    const schedule = scheduleOf(settings, dataset.train.count)
    await crew.synchroniser.ask.follow(schedule)
    control.emit(startedEvent(model, dataset, settings, programs, schedule, need))
    const finished = await new Course(
      crew,
      { schedule, settings, samples: dataset.train.count, classifies: dataset.classes > 0 },
      control
    ).finish()
    return { finished, model: await trainedModel(model, crew, programs, dataset, workplace) }
  } finally {
    await crew?.supervisor.ask.close()
    await workplace.system.stop()
    workplace.handles.release()
  }
}

function checkPrecision(engine: Engine, { backend, precision }: Settings): void {
  const { backends, processor } = engine.describe()
  const found = backends.find(({ name }) => name === backend)
  // An engine that cannot be loaded says so itself at its first call.
  if (!found?.available || found.precisions.includes(precision)) return
  const message = `precision: received ${precision}; backend ${backend} on ${processor} computes in ${found.precisions.join(', ')} only: use one of them`
  throw new ArbalestError('UNSUPPORTED_PRECISION', message, { data: { precision, backend, precisions: found.precisions } })
}

function memoryOf({ train, statistics, evaluate, predict }: Programs, dataset: Dataset, settings: Settings): MemoryNeed {
  const evaluation = [...evaluate.map(({ program }) => program), predict, ...(statistics ? [statistics.program] : [])]
  return memoryNeed(train, { programs: evaluation, replicas: evaluatorCount(settings) }, [dataset.train, dataset.test])
}

function startedEvent(
  model: Model,
  dataset: Dataset,
  settings: Settings,
  programs: Programs,
  schedule: Schedule,
  need: MemoryNeed
): StartedEvent {
  const { learners, batch, precision, seed } = settings
  return {
    event: 'started',
    model: model.name,
    data: dataset.name,
    learners,
    batch,
    precision,
    synchroniser: 'sma',
    seed,
    parameters: programs.train.parameters.elements,
    samples: dataset.train.count,
    iterations: schedule.iterations,
    bytesPerLearner: need.perLearner,
    bytesShared: need.shared
  }
}

function lostEvent({ learner, rank, error, round, iteration, replacedBy }: Loss): LearnerLostEvent {
  const { code } = error as { code?: unknown }
  return {
    event: 'learnerLost',
    learner,
    rank,
    reason: worded(error),
    code: typeof code === 'string' ? code : null,
    round,
    iteration,
    replacedBy
  }
}

/** The replica that was measured last holds the weights and their statistics: it becomes the trained model's. */
async function trainedModel(
  model: Model,
  { evaluators, evaluation }: Crew,
  { predict }: Programs,
  dataset: Dataset,
  { engine, handles }: Workplace
): Promise<TrainedModel> {
  await Promise.all(evaluators.map((evaluator) => evaluator.stop()))
  return new TrainedModel({ engine, model, replica: handles.pass(evaluation), program: predict, normalisation: dataset })
}
