import type { SkippedSample } from '../actors/feeder.js'
import { runAllCleanUps, type JobScope } from '../actors/job-scope.js'
import type { LearnerFailure } from '../actors/learner-failure.js'
import { NO_RECORD } from '../actors/learner-slot.js'
import { holdFolder } from '../checkpoints/store.js'
import type { FinishedEvent } from '../observe/events.js'
import type { Trace } from '../observe/trace.js'
import type { Settings } from '../options/settings.js'
import { showLive } from '../runtime/live-processes.js'
import type { Intervention } from '../schedules/interventions.js'
import { TrainedModel } from '../trained/trained-model.js'
import type { PopulationControl } from '../tuner/population-control.js'
import { beginRun, type BegunRun, type RunRecords } from './begin-run.js'
import type { Follower } from './hosts/follower.js'
import { followerOf, leaderOf, type Hosts } from './hosts/meeting.js'
import { obeyLeader } from './hosts/obey-leader.js'
import type { JobControl, JobOutcome } from './job.js'
import { centralModel, measureCentralOn } from './measure-central.js'
import { admitRun } from './memory/admit-run.js'
import { checkGrowth, MemoryBudget, type Growth } from './memory/budget.js'
import { watchMemory } from './memory/watch-memory.js'
import { openRun, type OpenRun } from './open-run.js'
import type { PreparedRun } from './prepare/prepare.js'
import { addressees, addresseesOnLeader, checkedCall, fromLearner } from './run-directory.js'
import { lostEvent } from './run-events.js'
import { RunLoop } from './run-loop.js'
import { BUILT_IN_LEARNER, type RunModules } from './run-modules.js'
import { populationOf } from './run-population.js'
import type { RunActors } from './start/run-actors.js'
import type { RunHooks } from './start/run-hooks.js'
import { startActors } from './start/start-actors.js'

/** What a run is a part of. */
export interface RunOnceOptions extends RunRecords {
  /** Absent if this process trains alone. */
  readonly hosts?: Hosts | undefined
  /** Called at the end with all that programs have changed. */
  readonly keep?: (all: readonly Intervention[]) => void
}

/** Over several hosts deaths of learners are not recorded: a host cannot tell the others' rounds that it has not ended. */
const UNRECORDED: RunHooks['record'] = { ...NO_RECORD, isAwaiting: () => false }

/** A run that does not begin again. Every thread that it starts has ended when it returns or throws. */
export async function runOnce(
  settings: Settings,
  modules: RunModules,
  given: JobControl,
  { hosts, keep, ...records }: RunOnceOptions
): Promise<JobOutcome> {
  // Before a checkpoint is chosen to go on from: another run may still be writing there.
  await using _held = settings.checkpoint && (await holdFolder(settings.checkpoint.dir))
  const run = await openRun(settings, modules, given, hosts)
  const { prepared, scope, control, interventions } = run
  using _live = show(run)
  let actors: RunActors | undefined
  let population: PopulationControl | undefined
  try {
    const arenas = await admitRun(prepared, scope.engine, modules.shared, control.stop)
    const before = MemoryBudget.now(scope.engine, prepared.settings)
    const peakMemory = watchMemory(prepared, scope)
    const leavesVacant = (error: Error) => population?.leavesVacant(error) ?? false
    actors = await startActors(prepared, modules.learner, scope, { ...hooksOf(run), trace: records.trace, arenas, leavesVacant })
    const begun = await beginRun(run, actors, records, before)
    const follower = followerOf(hosts)
    if (!follower) population = populationOf(prepared, actors, scope, begun.need, () => interventions.record.made)
    const finished = await (follower ? obey(begun, follower) : lead(begun, { population: population!, trace: records.trace, peakMemory }))
    return { finished, model: await trainedModel(prepared, actors, scope) }
  } catch (error) {
    leaderOf(hosts)?.passOn(error)
    throw error
  } finally {
    keep?.(interventions.record.all)
    await cleanUp(run, records, actors)
  }
}

/** `arbalest ctl` reaches a run over hosts by one process of each machine: that of the first host, or one that passes messages on to it. */
function show({ prepared: { model, dataset, hosts }, modules: { shared }, scope, control }: OpenRun): Disposable | undefined {
  if (followerOf(hosts)?.isBesideLeader) return undefined
  // Jobs that share a device may have the same model and data.
  const job = shared ? `job ${shared.job}: ` : ''
  return showLive({
    name: `${job}${model.name} on ${dataset.name}`,
    actors: () => scope.system.snapshot(),
    call: async (call) => control.directory.call(checkedCall(call))
  })
}

function hooksOf({
  prepared: { settings, hosts },
  modules: { learner, shared },
  control,
  interventions,
  skipped,
  decisions
}: OpenRun): Omit<RunHooks, 'trace' | 'arenas' | 'leavesVacant'> {
  return {
    onFailure: (failure: LearnerFailure) => control.emit(lostEvent(hosts?.host.failureInRun(failure) ?? failure)),
    record: hosts ? UNRECORDED : interventions.record,
    skipped: (sample: SkippedSample) => skipped.tell(sample),
    logged: (place, iteration, metrics) => control.metrics.logOf(place, iteration, metrics),
    control: interventions.requests,
    stop: hosts ? undefined : control.stop,
    decisions: () => decisions,
    shared,
    fromLearner: learner.href === BUILT_IN_LEARNER.href ? undefined : fromLearner(control.directory, settings)
  }
}

/** Trains to the end, as this host decides. */
function lead(
  { prepared, actors, scope, control, interventions, statistics, best, checkpoints, need }: BegunRun,
  {
    population,
    ...recorded
  }: { readonly population: PopulationControl; readonly trace: Trace | undefined; readonly peakMemory: () => number }
): Promise<FinishedEvent> {
  control.directory.open(addressees(actors, interventions.requests, population, prepared.hosts?.host))
  const own = (learners: number) => prepared.hosts?.host.learnersOf(learners) ?? learners
  const checkMemory = ({ there, wanted }: Growth) =>
    checkGrowth(scope.engine, prepared.settings, need, { there: own(there), wanted: own(wanted) })
  const options = {
    run: prepared,
    actors,
    population,
    checkpoints,
    interventions,
    measureOn: (data: string) => measureCentralOn(data, prepared, actors, scope, statistics),
    model: () => centralModel(prepared, actors, scope, statistics),
    checkMemory,
    loseHost: (rank: number) => actors.loseHost(rank),
    best
  }
  const loop = new RunLoop({ ...options, ...recorded }, control)
  return Promise.race([loop.run(), actors.feed.failed.catch((error: unknown) => loop.endWithoutData(error))])
}

/** Trains to the end, as the first host orders. */
function obey({ prepared, actors, scope, control, need }: BegunRun, follower: Follower): Promise<FinishedEvent> {
  control.directory.open(
    addresseesOnLeader(
      (call) => follower.call(call),
      () => follower.learners
    )
  )
  return Promise.race([obeyLeader(follower, prepared, actors, scope.engine, need), actors.feed.failed])
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

/** `actors` is undefined if they have not started. */
function cleanUp(
  { control: { metrics, directory }, interventions, scope }: OpenRun,
  { trace, spans }: RunRecords,
  actors: RunActors | undefined
): Promise<void> {
  return runAllCleanUps(
    () => metrics.freeze(),
    () => directory.shut(),
    () => interventions.close(),
    () => trace?.unwatch(),
    () => spans?.unwatch(),
    () => actors?.supervisor.askWith({ deadline: Infinity }).close(),
    () => scope.close(),
    () => scope.engine.trim()
  )
}
