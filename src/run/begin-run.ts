import { bestSoFar, type KeptModel, type MeasuredModel } from '../checkpoints/resume.js'
import type { FloatTensors } from '../formats/tensor.js'
import type { RunSpans } from '../observe/run-spans.js'
import type { Trace } from '../observe/trace.js'
import { ownSettings } from './hosts/meeting.js'
import { startCheckpointing, type Checkpointing } from './checkpointing.js'
import { statisticsReader } from './measure-central.js'
import { measuredNeed, type MemoryBudget } from './memory/budget.js'
import type { MemoryNeed } from './memory/need.js'
import type { OpenRun } from './open-run.js'
import type { PreparedRun } from './prepare/prepare.js'
import { endBefore, resumedEvent, setAsideEvent, startedEvent } from './run-events.js'
import type { RunActors } from './start/run-actors.js'

/** What is recorded of the actors besides the events of the run. */
export interface RunRecords {
  readonly trace?: Trace | undefined
  readonly spans?: RunSpans | undefined
}

/** An open run that can train. */
export interface BegunRun extends OpenRun {
  readonly actors: RunActors
  /** Reads the statistics of the model in the evaluators' replica. */
  readonly statistics: () => FloatTensors
  /** The best model before the run was resumed. */
  readonly best: MeasuredModel | undefined
  readonly checkpoints: Checkpointing | undefined
  /** As the first learners have shown it. */
  readonly need: MemoryNeed
}

/** Milliseconds that the synchroniser may take to tell its rounds: a run does not end later for its spans. */
const SPANS_DEADLINE = 2000

/**
 * Starts to take checkpoints and to record the actors, gives the group its schedule, and emits how the run begins. `before` is the memory that was free
 * without the actors.
 */
export async function beginRun(run: OpenRun, actors: RunActors, records: RunRecords, before: MemoryBudget): Promise<BegunRun> {
  const { prepared, scope, control, interventions } = run
  const { settings, schedule, resumption, refused } = prepared
  const { engine } = scope
  const statistics = statisticsReader(prepared, actors, scope)
  const best = await bestBefore(prepared)
  const { checkpoints, setAside = [] } = settings.checkpoint
    ? await startCheckpointing(settings.checkpoint, prepared, actors, scope, statistics, best?.folder, control.emit)
    : {}
  await actors.synchroniser.ask.follow(schedule)
  await watch(run, actors, records)
  control.emit(startedEvent(prepared))
  if (prepared.levels) control.emit(prepared.levels)
  if (prepared.exchange) control.emit(prepared.exchange.event)
  if (setAside.length > 0) control.emit(setAsideEvent(setAside, refused))
  if (resumption) control.emit(resumedEvent(resumption, prepared))
  if (resumption) interventions.record.resumeAt(resumption.state, settings.learners)
  control.metrics.begin({ iteration: () => engine.groupStatus(actors.group).iterations, emit: control.emit })
  const need = measuredNeed(engine, ownSettings(prepared.hosts, settings), prepared.need, before)
  return { ...run, actors, statistics, best, checkpoints, need }
}

/** The best model before the run was resumed, if the run keeps the best one. */
async function bestBefore(run: PreparedRun): Promise<KeptModel | undefined> {
  const { settings, programs, resumption } = run
  const { checkpoint, keep, until } = settings
  if (!resumption || !checkpoint || keep !== 'best') return undefined
  const ended = endBefore(resumption.state, run) !== undefined
  return bestSoFar(resumption, programs.train.parameters, { monitor: until.monitor, ended })
}

async function watch(
  { prepared, modules: { shared }, scope: { engine } }: OpenRun,
  { synchroniser, group }: RunActors,
  { trace, spans }: RunRecords
): Promise<void> {
  trace?.watch({
    status: () => synchroniser.ask.status(),
    levels: prepared.settings.devices.levels,
    averagingSpans: () => engine.averagingSpans(group),
    ...(shared && { turns: () => engine.leaseSpans(shared.lease, shared.job) })
  })
  await spans?.watch((after) => synchroniser.askWith({ deadline: SPANS_DEADLINE }).sampledRounds(after))
}
