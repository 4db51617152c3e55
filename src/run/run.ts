import type { SkippedSample } from '../actors/feeder.js'
import type { LearnerFailure } from '../actors/learner-failure.js'
import { holdFolder } from '../checkpoints/store.js'
import { loadEngine, type Engine } from '../engine/contract.js'
import { showLive } from '../runtime/live-processes.js'
import { ActorSystem } from '../runtime/system.js'
import { afterwards } from './afterwards.js'
import { Course } from './run-loop.js'
import { assembleCrew, type Crew, type RunModules, type Workplace } from './run-actors.js'
import { HandleScope } from '../engine/handle-scope.js'
import type { JobControl, JobOutcome } from './job.js'
import type { MemoryNeed } from './memory/memory.js'
import { provenNeed, refusalOf, reserveGrowth, roomOf, type Room } from './memory/room.js'
import type { PopulationSchedule } from '../schedules/population.js'
import { GivenPopulation, type PopulationControl } from '../tuner/population-control.js'
import { prepareRun, sourceNeeds, type PreparedRun } from './prepare.js'
import { answersTo } from '../trained/programs.js'
import { bestSoFar } from '../checkpoints/resume.js'
import { lostEvent, plannedEvent, resumedEvent, setAsideEvent, startedEvent } from './run-events.js'
import { runPersistently } from './run-persistently.js'
import { scheduleOf } from './schedule.js'
import type { Settings } from '../options/settings.js'
import { planSources } from '../actors/sources.js'
import { startCheckpointing } from './start-checkpointing.js'
import { Trace } from '../observe/trace.js'
import { TrainedModel } from '../trained/trained-model.js'
import { briefly } from './trial.js'
import { TunedPopulation } from '../tuner/tuned-population.js'

/** One run, from settings to the trained model. Every thread that it starts has ended when it returns or throws. */
export async function run(given: Settings, modules: RunModules, listener: JobControl): Promise<JobOutcome> {
  const title = (what: Settings['model'] | Settings['data']) => (typeof what === 'string' ? what : what.name)
  const trace = given.trace && new Trace(given.trace, `${title(given.model)} on ${title(given.data)}`)
  try {
    return await runPersistently(given, trace ? traced(listener, trace) : listener, (settings, control) =>
      runTraced(settings, modules, control, trace)
    )
  } finally {
    await afterwards(() => trace?.close())
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
  const { checkpoint: kept, trial } = given
  // Before it is chosen what to go on from: another run may still be writing there.
  await using _held = kept && !trial.dryRun ? await holdFolder(kept.dir) : undefined
  const engine = await loadEngine(modules.engine.href)
  const prepared = await prepareRun(given, engine)
  const { model, dataset, programs, settings, need, identity, levels, resumption } = prepared
  const { dryRun } = settings.trial
  if (dryRun) control.emit(plannedEvent(prepared))
  const onFailure = (failure: LearnerFailure) => control.emit(lostEvent(failure))
  let population: PopulationControl | undefined
  const leavesVacant = (error: Error) => population?.yields(error) ?? false
  let skips = 0
  const skipped = (sample: SkippedSample) => control.emit({ event: 'sampleSkipped', ...sample, skipped: ++skips })
  const workplace = {
    engine,
    modules,
    system: new ActorSystem(),
    handles: new HandleScope(engine),
    onFailure,
    leavesVacant,
    skipped,
    trace
  }
  using _live = showLive(`${model.name} on ${dataset.name}`, () => workplace.system.snapshot())
  let crew: Crew | undefined
  try {
    const brief = dryRun ? briefly(programs) : programs
    const plan = planSources(dataset, sourceNeeds(brief, settings), prepared.dataMemory)
    const before = roomOf(engine, settings)
    crew = await assembleCrew(model, dataset, brief, settings, plan, workplace, resumption)
    const { synchroniser, group } = crew
    const checkpoint = dryRun ? undefined : settings.checkpoint
    const { checkpoints, setAside = [] } = checkpoint
      ? await startCheckpointing(checkpoint, { model, dataset, programs, crew }, workplace, control, resumption)
      : {}
    const keepsBest = resumption && checkpoint && settings.watch.keep === 'best'
    const best = keepsBest ? await bestSoFar(checkpoint.dir, programs.train.parameters, resumption.state.iteration) : undefined
    const reschedule = (changes: PopulationSchedule) => scheduleOf(settings, dataset.train.count, changes)
    const schedule = reschedule(settings.population.schedule)
    await synchroniser.ask.follow(schedule)
    trace?.watch({ status: () => synchroniser.ask.status(), levels: settings.devices.levels, levelSpans: () => engine.levelSpans(group) })
    control.emit(startedEvent(prepared, schedule))
    if (levels) control.emit(levels)
    if (setAside.length > 0) control.emit(setAsideEvent(setAside, prepared.refused))
    if (resumption) control.emit(resumedEvent(resumption, prepared.refused))
    population = populationControl(settings, crew, engine, { need, before }, resumption?.state.round)
    const course = new Course(
      crew,
      {
        schedule,
        reschedule,
        population,
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
    return { finished, model: await trainedModel(prepared, crew, workplace) }
  } finally {
    await afterwards(
      () => trace?.unwatch(),
      () => crew?.supervisor.askWith({ deadline: Infinity }).close(),
      () => workplace.system.stop(),
      () => workplace.handles.release(),
      () => engine.trim()
    )
  }
}

/** `before`: the room that there was without the crew. */
function populationControl(
  settings: Settings,
  { supervisor }: Crew,
  engine: Engine,
  { need, before }: { readonly need: MemoryNeed; readonly before: Room },
  round = 0
): PopulationControl {
  const { learners, population } = settings
  const { schedule, tuning } = population
  if (!tuning) return new GivenPopulation(schedule, supervisor, round)
  const proven = provenNeed(engine, settings, need, before)
  reserveGrowth(engine, settings, proven)
  const refusal = (more: number) => refusalOf(proven, more, roomOf(engine, settings))
  return new TunedPopulation({ start: learners, history: schedule, tuning, supervisor, refusal })
}

/** The replica that was measured last holds the weights and their statistics: it becomes the trained model's. */
async function trainedModel(
  { model, programs: { predict: program }, dataset: normalisation }: PreparedRun,
  { evaluators, evaluation }: Crew,
  { engine, modules, handles }: Workplace
): Promise<TrainedModel> {
  await Promise.all(evaluators.map((evaluator) => evaluator.stop()))
  const replica = handles.pass(evaluation)
  const { classNames } = normalisation
  return new TrainedModel({ engine, module: modules.engine, model, replica, program, normalisation, classNames })
}
