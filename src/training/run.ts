import { loadEngine } from '../actors/engine-module.js'
import type { SkippedSample } from '../actors/feeder.js'
import { worded, type Loss } from '../actors/place.js'
import type { Dataset } from '../data/dataset.js'
import { openData } from '../data/open-data.js'
import type { Engine } from '../engine/contract.js'
import { loweringBackend } from '../engine/lowering.js'
import { ArbalestError } from '../errors.js'
import type { Model } from '../model/model.js'
import { withOperators } from '../model/composed.js'
import { modelNamed } from '../model/zoo/index.js'
import { showLive } from '../runtime/live/serve.js'
import { ActorSystem } from '../runtime/system.js'
import { Course } from './course.js'
import { assembleCrew, evaluatorCount, mostLearners, sharesOf, type Crew, type RunModules, type Workplace } from './crew.js'
import type { LearnerLostEvent, PlannedEvent, ResumedEvent, StartedEvent } from './events.js'
import { HandleScope } from './handle-scope.js'
import type { JobControl, JobOutcome } from './job.js'
import { chosenLevels } from './levels.js'
import { checkMemory, memoryNeed, refusalOf, roomFor, type MemoryNeed } from './memory.js'
import { changedAt, type PopulationSchedule } from './population.js'
import { GivenPopulation, type PopulationControl } from './population-control.js'
import { answersTo, programsOf, type Programs } from './programs.js'
import { bestSoFar, resumedSettings, resumptionOf, type Resumption } from './resume.js'
import { identityOf } from './run-identity.js'
import { loadedSettings, scheduleOf, type RunSettings, type Schedule } from './schedule.js'
import { runPersistently } from './run-persistently.js'
import { sharedArenas } from './shared-arenas.js'
import type { Settings } from './settings.js'
import { checkLevels } from './settings/devices.js'
import { planSources, type SourceNeeds, type SourcePlan } from './sources.js'
import { startCheckpointing } from './start-checkpointing.js'
import { Trace } from './trace.js'
import { TrainedModel } from './trained-model.js'
import { briefly, DRY_STEPS, fewSamples, plannedPrograms } from './trial.js'
import { TunedPopulation } from './tuned-population.js'
import { vectorCount } from './vectors.js'

/** One run, from settings to the trained model. Every thread that it starts has ended when it returns or throws. */
export async function run(given: Settings, modules: RunModules, listener: JobControl): Promise<JobOutcome> {
  const title = (what: Settings['model'] | Settings['data']) => (typeof what === 'string' ? what : what.name)
  const trace = given.trace && new Trace(given.trace, `${title(given.model)} on ${title(given.data)}`)
  try {
    return await runPersistently(given, trace ? traced(listener, trace) : listener, (settings, control) =>
      runTraced(settings, modules, control, trace)
    )
  } finally {
    trace?.close()
  }
}

function traced(listener: JobControl, trace: Trace): JobControl {
  return {
    stop: listener.stop,
    emit(event) {
      trace.event(event)
      listener.emit(event)
    }
  }
}

async function runTraced(given: Settings, modules: RunModules, control: JobControl, trace: Trace | undefined): Promise<JobOutcome> {
  const engine = await loadEngine(modules.engine.href)
  checkPrecision(engine, given)
  const { data, dataDir: directory, context, images } = given
  const whole = typeof data === 'string' ? await openData(data, { directory, context, images }) : data
  const { dryRun, overfit } = given.trial
  const dataset = overfit === undefined ? whole : fewSamples(whole, { batches: overfit, batch: given.batch })
  const plain = typeof given.model === 'string' ? modelNamed(given.model, { input: dataset.sample, classes: dataset.classes }) : given.model
  const { labelSmoothing } = given
  const model = await withOperators(labelSmoothing === undefined ? plain : { ...plain, labelSmoothing })
  const programs = programsOf(model, dataset, given, loweringBackend(engine, given.backend, given.threads))
  const { freeMemory } = engine.describe()
  const planFor = (chosen: RunSettings) => planSources(dataset, sourceNeeds(programs, chosen), freeMemory)
  const asked = await loadedSettings(given, dataset.train.count)
  checkLevels(asked.devices, asked.rule)
  const need = memoryOf(programs, planFor(asked), asked)
  const identity = identityOf(model, dataset, programs, asked)
  const layout = programs.train.parameters
  const refused: ResumedEvent['refused'][number][] = []
  const checkpoint = dryRun ? undefined : asked.checkpoint
  const resumption =
    checkpoint && (await resumptionOf(checkpoint, { layout, identity }, (folder, error) => refused.push({ folder, reason: error.message })))
  const wanted = resumption ? resumedSettings(asked, resumption.state) : asked
  const fitting = withinMemory(wanted, need, freeMemory)
  const limited = dryRun ? { ...fitting, until: { ...fitting.until, epochs: Infinity, steps: DRY_STEPS } } : fitting
  const levels = chosenLevels(engine, limited.devices, limited.backend, layout.bytes)
  const settings = levels ? { ...limited, devices: { ...limited.devices, levels: levels.levels } } : limited
  checkMemory(need, Math.max(...settings.population.schedule.map(({ learners }) => learners)), freeMemory)

  if (dryRun) control.emit(plannedEvent(programs, fitting, dataset, need, engine))
  const lost = (loss: Loss) => control.emit(lostEvent(loss))
  let skips = 0
  const skipped = (sample: SkippedSample) => control.emit({ event: 'sampleSkipped', ...sample, skipped: ++skips })
  const workplace = { engine, modules, system: new ActorSystem(), handles: new HandleScope(engine), lost, skipped, trace }
  using _live = showLive(`${model.name} on ${dataset.name}`, () => workplace.system.snapshot())
  let crew: Crew | undefined
  try {
    const brief = dryRun ? briefly(programs) : programs
    const plan = planSources(dataset, sourceNeeds(brief, settings), freeMemory)
    crew = await assembleCrew(model, dataset, brief, settings, plan, workplace, resumption)
    const { population } = settings
    const checkpoints =
      checkpoint && (await startCheckpointing(checkpoint, { model, dataset, programs, crew }, workplace, control, resumption))
    const best = resumption && checkpoint && settings.watch.keep === 'best' ? await bestSoFar(checkpoint.dir, layout) : undefined
    const reschedule = (changes: PopulationSchedule) => scheduleOf(settings, dataset.train.count, changes)
    const schedule = reschedule(population.schedule)
    await crew.synchroniser.ask.follow(schedule)
    const { synchroniser } = crew
    const { group } = crew
    trace?.watch({ status: () => synchroniser.ask.status(), levels: settings.devices.levels, levelSpans: () => engine.levelSpans(group) })
    control.emit(startedEvent(model, dataset, settings, programs, schedule, need))
    if (levels) control.emit(levels)
    if (resumption) control.emit(resumedEvent(resumption, refused))
    const course = new Course(
      crew,
      {
        schedule,
        reschedule,
        population: populationControl(settings, crew, need, engine, resumption?.state.round),
        trace,
        checkpoints,
        resumes: resumption && { state: resumption.state, best },
        identity,
        settings,
        samples: dataset.train.count,
        answers: answersTo(model, dataset),
        writes: dataset.train.stride !== undefined
      },
      control
    )
    const finished = await Promise.race([course.finish(), crew.feed.failed])
    return { finished, model: await trainedModel(model, crew, programs, dataset, workplace) }
  } finally {
    trace?.unwatch()
    await crew?.supervisor.ask.close()
    await workplace.system.stop()
    workplace.handles.release()
  }
}

/** Who is tuned begins with no more than what fits. */
function withinMemory(settings: RunSettings, need: MemoryNeed, free: number): RunSettings {
  const { schedule, tuning } = settings.population
  if (!tuning) return settings
  const room = Math.max(1, roomFor(need, free))
  // One a device, as far as there is room for one on each.
  const even = room < tuning.by ? room : room - (room % tuning.by)
  const learners = settings.learners <= room ? settings.learners : even
  const most = Math.min(tuning.most, room)
  return {
    ...settings,
    learners,
    population: { schedule: changedAt(schedule, { ...schedule.at(-1)!, learners }), tuning: { ...tuning, most } }
  }
}

function populationControl(
  { learners, population }: Settings,
  { supervisor }: Crew,
  need: MemoryNeed,
  engine: Engine,
  round = 0
): PopulationControl {
  const { schedule, tuning } = population
  if (!tuning) return new GivenPopulation(schedule, supervisor, round)
  const refusal = (more: number) => refusalOf(need, more, engine.describe().freeMemory)
  return new TunedPopulation({ start: learners, history: schedule, tuning, supervisor, refusal })
}

function checkPrecision(engine: Engine, { backend, precision }: Settings): void {
  const { backends, processor } = engine.describe()
  const found = backends.find(({ name }) => name === backend)
  // An engine that cannot be loaded says so itself at its first call.
  if (!found?.available || found.precisions.includes(precision)) return
  const message = `precision: received ${precision}; backend ${backend} on ${processor} computes in ${found.precisions.join(', ')} only: use one of them`
  throw new ArbalestError('UNSUPPORTED_PRECISION', message, { data: { precision, backend, precisions: found.precisions } })
}

function memoryOf({ train, statistics, evaluate, predict }: Programs, plan: SourcePlan, settings: RunSettings): MemoryNeed {
  const evaluation = [...evaluate.map(({ program }) => program), predict, ...(statistics ? [statistics.program] : [])]
  const measuring = { programs: evaluation, replicas: evaluatorCount(settings) }
  return memoryNeed(train, measuring, plan.bytes, {
    vectors: vectorCount(train, settings.rule, settings.average, settings.devices),
    arenas: sharedArenas(settings)
  })
}

function sourceNeeds({ statistics, evaluate }: Programs, settings: RunSettings): SourceNeeds {
  const shares = sharesOf(evaluate, evaluatorCount(settings))
  return { batch: settings.batch, learners: mostLearners(settings), statistics, shares }
}

function plannedEvent(programs: Programs, settings: RunSettings, dataset: Dataset, need: MemoryNeed, engine: Engine): PlannedEvent {
  const { learners, batch, population } = settings
  return {
    event: 'planned',
    programs: plannedPrograms(programs),
    learners,
    stepsAnEpoch: Math.ceil(dataset.train.count / (learners * batch)),
    steps: scheduleOf(settings, dataset.train.count, population.schedule).iterations,
    bytesPerLearner: need.perLearner,
    bytesShared: need.shared,
    bytesFree: engine.describe().freeMemory
  }
}

function startedEvent(
  model: Model,
  dataset: Dataset,
  settings: Settings,
  programs: Programs,
  schedule: Schedule,
  need: MemoryNeed
): StartedEvent {
  const { learners, batch, precision, seed, synchroniser } = settings
  return {
    event: 'started',
    model: model.name,
    data: dataset.name,
    learners,
    batch,
    precision,
    synchroniser: synchroniser.name,
    seed,
    parameters: programs.train.parameters.elements,
    samples: dataset.train.count,
    iterations: schedule.iterations,
    bytesPerLearner: need.perLearner,
    bytesShared: need.shared
  }
}

function resumedEvent({ folder, state: { round, iteration } }: Resumption, refused: ResumedEvent['refused']): ResumedEvent {
  return { event: 'resumed', folder, round, iteration, refused }
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
  { engine, modules, handles }: Workplace
): Promise<TrainedModel> {
  await Promise.all(evaluators.map((evaluator) => evaluator.stop()))
  const replica = handles.pass(evaluation)
  const { classNames } = dataset
  return new TrainedModel({ engine, module: modules.engine, model, replica, program: predict, normalisation: dataset, classNames })
}
