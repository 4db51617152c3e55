import type { SkippedSample } from '../actors/feeder.js'
import { JobScope, runAllCleanUps } from '../actors/job-scope.js'
import type { LearnerFailure } from '../actors/learner-failure.js'
import { bestSoFar, type MeasuredModel } from '../checkpoints/resume.js'
import { holdFolder } from '../checkpoints/store.js'
import { loadEngine, type Engine, type Handle } from '../engine/contract.js'
import { ArbalestError, messageOf } from '../errors.js'
import type { FloatTensors } from '../formats/tensor.js'
import type { FinishedEvent, PopulationEvent } from '../observe/events.js'
import { openSinks } from '../observe/open-sinks.js'
import { openSpans } from '../observe/open-spans.js'
import { runEvent } from '../observe/run-event.js'
import { EventSinks } from '../observe/sinks.js'
import type { RunSpans } from '../observe/run-spans.js'
import { Trace } from '../observe/trace.js'
import type { Settings } from '../options/settings.js'
import { showLive } from '../runtime/live-processes.js'
import type { Intervention } from '../schedules/interventions.js'
import { mostLearners } from '../schedules/population.js'
import { TrainedModel } from '../trained/trained-model.js'
import { GivenPopulation, type PopulationControl } from '../tuner/population-control.js'
import { TunedPopulation } from '../tuner/tuned-population.js'
import type { Follower } from './hosts/follower.js'
import { hostsSpecOf } from './hosts/hosts-spec.js'
import { leaderOf, type FollowedHosts, type Hosts, type LedHosts } from './hosts/meeting.js'
import { Interventions } from './interventions.js'
import { centralModel, measureCentralOn, statisticsReader } from './measure-central.js'
import { startActors, type RunActors, type RunHooks, type SharedDevice } from './start-actors.js'
import { startCheckpointing, type Checkpointing } from './checkpointing.js'
import { dryRunOf, plannedEvent } from './dry-run.js'
import type { JobControl, JobOutcome } from './job.js'
import { checkGrowth, MemoryBudget, type Growth, measuredNeed, reserveGrowth } from './memory/budget.js'
import { canShareArenas } from './memory/shared-arenas.js'
import type { MemoryNeed } from './memory/need.js'
import { prepareRun, type PreparedRun } from './prepare.js'
import { runWithRetries } from './retries.js'
import { lostEvent, resumedEvent, setAsideEvent, startedEvent } from './run-events.js'
import { costWarnings } from './run-cost.js'
import { BUILT_IN_LEARNER, titleOf, type RunModules } from './run-modules.js'
import { addressees, addresseesOnLeader, checkedCall, fromLearner } from './run-directory.js'
import { RunLoop } from './run-loop.js'
import { StoppedEarly, stoppedEvent } from './stopped-early.js'

/** What is recorded of the actors besides the events of the run. */
interface Records {
  readonly trace?: Trace | undefined
  readonly spans?: RunSpans | undefined
}

/** Milliseconds that the synchroniser may take to tell its rounds: a run does not end later for its spans. */
const SPANS_DEADLINE = 2000

/** Over several hosts deaths of learners are not recorded: a host cannot tell the others' rounds that it has not ended. */
const UNRECORDED: RunHooks['record'] = { died: (_place, _departure, succession) => succession, joined: () => {}, isAwaiting: () => false }

/** One run, from settings to the trained model. Every thread that it starts has ended when it returns or throws. */
export async function run(given: Settings, modules: RunModules, control: JobControl, name: string): Promise<JobOutcome> {
  const spec = modules.hosts ?? hostsSpecOf(given)
  if (!spec) return recorded(given, modules, control, name)
  const { joinHosts } = await import('./hosts/join.js')
  return joinHosts(await loadEngine(modules.engine.href), spec, given, control, {
    lead: (settings, led, hosts) => recorded(settings, modules, led, name, hosts),
    follow: (settings, following, hosts) => follow(settings, modules, following, hosts)
  })
}

/** A run on a host that is not the first one: it writes nothing. */
async function follow(settings: Settings, modules: RunModules, control: JobControl, hosts: FollowedHosts): Promise<JobOutcome> {
  try {
    return await runOnce({ ...settings, checkpoint: undefined }, modules, control, {}, () => {}, hosts)
  } catch (error) {
    if (error instanceof StoppedEarly) return { finished: stoppedEvent(settings), model: undefined }
    throw error
  }
}

/** A run whose events are logged and that begins again if its loss is not finite. */
async function recorded(given: Settings, modules: RunModules, control: JobControl, name: string, hosts?: LedHosts): Promise<JobOutcome> {
  const { dryRun } = given
  // A dry run writes no files but its trace.
  const settings = dryRun ? { ...given, checkpoint: undefined } : given
  const sinks = dryRun ? new EventSinks() : await openSinks(given, name)
  try {
    sinks.write(runEvent(settings))
    const trace = settings.trace && sinks.add(new Trace(settings.trace, titleOf(settings)))
    const spans = dryRun ? undefined : await openSpans()
    if (spans) sinks.add(spans)
    let attempts = 0
    const outcome = await runWithRetries(settings, recording(control, sinks), (attempt, logged, keep) => {
      if (attempts++ > 0)
        hosts?.leader.order({ order: 'again', learningRateScale: attempt.learningRateScale, interventions: attempt.interventions })
      return runOnce(attempt, modules, logged, { trace, spans }, keep, hosts)
    })
    sinks.write(outcome.finished)
    return outcome
  } catch (error) {
    if (error instanceof StoppedEarly) {
      const finished = stoppedEvent(settings)
      sinks.write(finished)
      return { finished, model: undefined }
    }
    const code = error instanceof ArbalestError ? error.code : 'INTERNAL'
    sinks.write({ event: 'failed', code, message: messageOf(error) })
    throw error
  } finally {
    sinks.close()
  }
}

/** Writes each event to the sinks before the job emits it. */
function recording({ emit, ...control }: JobControl, sinks: EventSinks): JobControl {
  return {
    ...control,
    emit(event) {
      sinks.write(event)
      emit(event)
    }
  }
}

/** `keep` is called at the end with all that programs have changed. */
async function runOnce(
  settings: Settings,
  modules: RunModules,
  given: JobControl,
  { trace, spans }: Records,
  keep: (all: readonly Intervention[]) => void,
  hosts: Hosts | undefined
): Promise<JobOutcome> {
  const { directory, stop } = given
  const decisions: PopulationEvent[] = []
  const control: JobControl = {
    ...given,
    emit: (event) => {
      if (event.event === 'population') decisions.push(event)
      given.emit(event)
    }
  }
  // Before a checkpoint is chosen to go on from: another run may still be writing there.
  await using _held = settings.checkpoint && (await holdFolder(settings.checkpoint.dir))
  const engine = await loadEngine(modules.engine.href)
  leaderOf(hosts)?.forwardTo((event) => control.emit(event))
  const whole = await prepareRun(settings, engine, modules.engine, control.stop, hosts)
  for (const message of costWarnings(whole)) control.emit({ event: 'warning', message })
  if (settings.dryRun) control.emit(plannedEvent(whole))
  const prepared = settings.dryRun ? dryRunOf(whole) : whole

  const scope = new JobScope(engine, modules.engine)
  // `arbalest ctl` reaches a run over hosts by one process of each machine: that of the first host, or one that passes messages on to it.
  using _live =
    hosts && 'follower' in hosts && hosts.follower.isBesideLeader
      ? undefined
      : showLive({
          name: `${prepared.model.name} on ${prepared.dataset.name}`,
          actors: () => scope.system.snapshot(),
          call: async (call) => directory.call(checkedCall(call))
        })
  let actors: RunActors | undefined
  let population: PopulationControl | undefined
  let skips = 0
  const interventions = new Interventions({
    made: prepared.settings.changes,
    recorded: prepared.settings.interventions,
    emit: (event) => control.emit(event),
    stop
  })
  try {
    const arenas = await admitted(prepared, engine, modules.shared, stop)
    const before = MemoryBudget.now(engine, prepared.settings)
    const peakMemory = watchMemory(prepared, scope)
    actors = await startActors(prepared, modules.learner, scope, {
      trace,
      arenas,
      onFailure: (failure: LearnerFailure) => control.emit(lostEvent(hosts?.host.failureInRun(failure) ?? failure)),
      record: hosts ? UNRECORDED : interventions,
      leavesVacant: (error) => population?.leavesVacant(error) ?? false,
      skipped: (sample: SkippedSample) => control.emit({ event: 'sampleSkipped', ...sample, skipped: ++skips }),
      logged: (learner, iteration, metrics) => control.metrics.logOf(learner, iteration, metrics),
      control: interventions,
      decisions: () => decisions,
      shared: modules.shared,
      fromLearner: modules.learner.href === BUILT_IN_LEARNER.href ? undefined : fromLearner(directory, prepared.settings)
    })
    const statistics = statisticsReader(prepared, actors, scope)
    const best = await bestBefore(prepared)
    const checkpoints = await begin(prepared, actors, scope, control, { trace, spans, shared: modules.shared }, statistics)
    if (prepared.resumption) interventions.resumeAt(prepared.resumption.state, prepared.settings.learners)
    control.metrics.follow({ iteration: () => engine.groupStatus(actors!.group).iterations, emit: control.emit })
    const need = measuredNeed(engine, prepared.settings, prepared.need, before)
    const own = (learners: number) => hosts?.host.learnersOf(learners) ?? learners
    const checkMemory = ({ there, wanted }: Growth) =>
      checkGrowth(MemoryBudget.now(engine, prepared.settings), need, { there: own(there), wanted: own(wanted) })
    const lead = () => {
      const controlled = populationControl(prepared, actors!, scope, need)
      population = controlled
      const measureOn = (data: string) => measureCentralOn(data, prepared, actors!, scope, statistics)
      const model = () => centralModel(prepared, actors!, scope, statistics)
      directory.open(addressees(actors!, interventions, controlled))
      const loseHost = (rank: number) => actors!.loseHost(rank)
      const about = {
        loseHost,
        run: prepared,
        actors: actors!,
        population: controlled,
        checkpoints,
        interventions,
        measureOn,
        model,
        checkMemory
      }
      return new RunLoop({ ...about, best, trace, peakMemory }, control).run()
    }
    const obey = (follower: Follower) => {
      directory.open(
        addresseesOnLeader(
          (call) => follower.call(call),
          () => follower.learners
        )
      )
      return followed(follower, prepared, actors!, engine, need)
    }
    const finished = await Promise.race([hosts && 'follower' in hosts ? obey(hosts.follower) : lead(), actors.feed.failed])
    return { finished, model: await trainedModel(prepared, actors, scope) }
  } finally {
    keep(interventions.all)
    await runAllCleanUps(
      () => control.metrics.freeze(),
      () => directory.shut(),
      () => interventions.close(),
      () => trace?.unwatch(),
      () => spans?.unwatch(),
      () => actors?.supervisor.askWith({ deadline: Infinity }).close(),
      () => scope.close(),
      () => engine.trim()
    )
  }
}

/** Obeys the first host to the end. Afterwards the first evaluator's replica holds the model. */
async function followed(
  follower: Follower,
  { programs, settings }: PreparedRun,
  actors: RunActors,
  engine: Engine,
  need: MemoryNeed
): Promise<FinishedEvent> {
  const { learners } = actors
  const prepare = async (wanted: number) => {
    const { learners: there } = await learners.population()
    checkGrowth(MemoryBudget.now(engine, settings), need, { there, wanted })
    await learners.prepare(wanted)
  }
  const following = { ...actors, learners: { ...learners, prepare } }
  const finished = await follower.obey(following, engine, programs.train.parameters.parameters)
  await actors.evaluators.takeCentral()
  return finished
}

/**
 * Waits for the other jobs of the device: together they must fit. Returns the arenas that they share, if they have none of their own. Throws OUT_OF_MEMORY,
 * and a StoppedEarly.
 */
async function admitted(
  { settings, programs, need, budget, arenas }: PreparedRun,
  engine: Engine,
  shared: SharedDevice | undefined,
  stop: AbortSignal
): Promise<Handle | undefined> {
  if (!shared) return undefined
  const bytes = need.shared + budget.ofDevice(mostLearners(settings.population)) * need.perLearner
  const persistent = bytes - arenas.reduce((sum, each) => sum + each, 0)
  // Cores that are divided into devices have arenas near to each; values that are moved away have places of their own there.
  const sharesArenas = canShareArenas(engine, settings) && settings.devices.devices.length === 1 && programs.train.arenas.staged === 0
  // What is free for all of them: the run's own limit is no part of it.
  const { free } = MemoryBudget.now(engine, { ...settings, deviceMemory: 'auto' })
  const stopped = new Promise<never>((_, reject) => {
    const refuse = () => reject(new StoppedEarly())
    if (stop.aborted) refuse()
    else stop.addEventListener('abort', refuse, { once: true })
  })
  return Promise.race([shared.admission.admit(shared.job, { persistent, arenas, sharesArenas, free }), stopped])
}

/** Tells the most memory that has been allocated on a device since now, and the samples, which lie in the machine's memory outside of any GPU. */
function watchMemory({ settings: { backend, devices }, sourcePlan }: PreparedRun, { engine, handles }: JobScope): () => number {
  const watch = handles.own(engine.watchMemory(backend, devices.devices.length))
  const samples = engine.capabilities(backend).memory === 'machine' ? sourcePlan.bytes : 0
  return () => engine.peakMemory(watch) + samples
}

/** Starts to take checkpoints, gives the group its schedule, and emits how the run begins. */
async function begin(
  prepared: PreparedRun,
  actors: RunActors,
  scope: JobScope,
  control: JobControl,
  { trace, spans, shared }: Records & { readonly shared: SharedDevice | undefined },
  statistics: () => FloatTensors
): Promise<Checkpointing | undefined> {
  const { settings, schedule, levels, exchange, resumption, refused } = prepared
  const { synchroniser, group } = actors
  const { checkpoints, setAside = [] } = settings.checkpoint
    ? await startCheckpointing(settings.checkpoint, prepared, actors, scope, statistics, control.emit)
    : {}
  await synchroniser.ask.follow(schedule)
  trace?.watch({
    status: () => synchroniser.ask.status(),
    levels: settings.devices.levels,
    averagingSpans: () => scope.engine.averagingSpans(group),
    ...(shared && { turns: () => scope.engine.leaseSpans(shared.lease, shared.job) })
  })
  await spans?.watch((after) => synchroniser.askWith({ deadline: SPANS_DEADLINE }).sampledRounds(after))
  control.emit(startedEvent(prepared))
  if (levels) control.emit(levels)
  if (exchange) control.emit(exchange.event)
  if (setAside.length > 0) control.emit(setAsideEvent(setAside, refused))
  if (resumption) control.emit(resumedEvent(resumption, prepared))
  return checkpoints
}

/** The best model before the run was resumed, if the run keeps the best one. */
async function bestBefore({ settings, programs, resumption }: PreparedRun): Promise<MeasuredModel | undefined> {
  const { checkpoint, keep } = settings
  if (!resumption || !checkpoint || keep !== 'best') return undefined
  return bestSoFar(checkpoint.dir, programs.train.parameters, { iteration: resumption.state.iteration, monitor: settings.until.monitor })
}

/** Follows a given number or schedule of learners, or tunes their number. `before`: the memory that was free without the actors. */
function populationControl(
  { settings, resumption, hosts }: PreparedRun,
  { learners: all }: RunActors,
  { engine }: JobScope,
  need: MemoryNeed
): PopulationControl {
  const { learners, population } = settings
  const { schedule, tuning } = population
  if (!tuning) return new GivenPopulation(schedule, all, resumption?.state.round)
  reserveGrowth(engine, settings, need)
  const refusal = (more: number) => MemoryBudget.now(engine, settings).refusal(need, Math.ceil(more / (hosts?.host.size ?? 1)))
  return new TunedPopulation({ start: learners, history: schedule, tuning, run: all, refusal })
}

/** The trained model takes over the replica that holds the weights and statistics of the model measured last. */
async function trainedModel(
  { model, programs, dataset }: PreparedRun,
  { evaluators, moved }: RunActors,
  { engine, engineModule, handles }: JobScope
): Promise<TrainedModel> {
  await evaluators.stop()
  const replica = handles.pass(evaluators.replica)
  return new TrainedModel({
    engine,
    module: engineModule,
    model,
    replica,
    program: programs.predict,
    normalisation: dataset,
    classNames: dataset.classNames,
    encoding: dataset.encoding,
    moved: moved === undefined ? undefined : handles.pass(moved)
  })
}
