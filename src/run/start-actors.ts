import { actorClass } from '../actors/own-actor.js'
import { Evaluators, evaluationShares, isSharedOut, type TestScores } from '../actors/evaluators.js'
import type { EvaluationPass, StatisticsPass } from '../actors/evaluator.js'
import { startFeed, type Feed } from '../actors/feed.js'
import type { SkippedSample } from '../actors/feeder.js'
import type { JobScope } from '../actors/job-scope.js'
import type { Learner, LearnerOptions, LearnerTask } from '../actors/learner.js'
import type { LogLine } from '../learner/learner-log.js'
import type { LearnerFailure } from '../actors/learner-failure.js'
import type { LossRecord, SpawnLearner } from '../actors/learner-slot.js'
import type { RunControl, SynchroniserStatus } from '../protocols/protocols.js'
import type { RunCall, SendCall } from '../protocols/run-ref.js'
import { makeSources, makeTestSources, planTestSources, type Sources } from '../actors/sources.js'
import { Supervisor } from '../actors/supervisor.js'
import { Synchroniser } from '../actors/synchroniser.js'
import { findModelFile } from '../checkpoints/find-model.js'
import type { Handle, HostTierSpec, LevelSpec, MovedVectorsUse, StreamStatus } from '../engine/contract.js'
import { giveBack } from '../engine/give-back.js'
import { readFolder } from '../formats/huggingface/folder.js'
import { folderWeights } from '../formats/huggingface/read-folder-model.js'
import { importFile } from '../formats/import-weights.js'
import { predictionGraphInPieces } from '../model/graph-builder.js'
import { elements } from '../model/graph.js'
import { initialParametersInTurns } from '../model/initialise.js'
import type { Model } from '../model/model.js'
import type { LoggedMetrics } from '../observe/logged-metrics.js'
import type { PopulationEvent } from '../observe/events.js'
import type { Trace } from '../observe/trace.js'
import type { Settings } from '../options/settings.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import { transfer } from '../runtime/cloneable.js'
import { answeredPort, sendingPort } from '../runtime/port.js'
import { messagesTo } from '../schedules/interventions.js'
import { inTurns, mapInPieces } from '../turns.js'
import { answersPerSample, type ProgramPass } from '../trained/programs.js'
import { groupSpec } from './group-spec.js'
import type { Admission } from './memory/admission.js'
import { sharedArenas } from './memory/shared-arenas.js'
import { hostsLevel } from './hosts/hosts-level.js'
import { LearnersOfHosts, type HostLearners } from './hosts/learners-of-hosts.js'
import { leaderOf } from './hosts/meeting.js'
import type { PreparedRun } from './prepare.js'
import { trainingOptions } from './programs.js'
import { presentRule } from './run-settings.js'

/** The actors of a run. */
export interface RunActors {
  readonly synchroniser: ActorRef<Synchroniser>
  /** Its status at once, without a message; undefined if a class of the user's own answers that. */
  readonly status: (() => SynchroniserStatus) | undefined
  readonly supervisor: ActorRef<Supervisor>
  /** Those of all hosts on the first one; of this process on the others. */
  readonly learners: HostLearners
  readonly evaluators: Evaluators
  /** Measures the central model on all test samples, which the hosts share out. Call it while the learners rest. */
  readonly measure: () => Promise<TestScores>
  /** On the first host: goes on without another one, whose share of the test samples this one measures from now on. The learners rest. */
  readonly loseHost: (rank: number) => Promise<void>
  readonly feed: Feed
  /** The group of learners in the engine. */
  readonly group: Handle
  /** Seconds for which all learners together have waited for data. */
  readonly dataWaited: () => number
  /** The second tier in which all vectors of the run lie; undefined if some lie on the device. */
  readonly moved: Handle | undefined
  /** Of the training samples' stream; absent where they lie in memory. */
  readonly feedStatus: (() => StreamStatus) | undefined
}

/** What a run does with the reports of its actors. */
export interface RunHooks {
  readonly trace: Trace | undefined
  readonly onFailure: (failure: LearnerFailure) => void
  /** Learners that die, and their successors. */
  readonly record: LossRecord & { isAwaiting(place: number): boolean }
  /** Whether the other learners go on without a replacement of one that failed with this error. */
  readonly leavesVacant: (error: Error) => boolean
  readonly skipped: (sample: SkippedSample) => void
  /** Called with what a learner of the user's own logs. */
  readonly logged: (learner: number, iteration: number, metrics: LoggedMetrics) => void
  /** Where programs ask for changes. */
  readonly control: RunControl
  /** What was decided about the number of learners so far. */
  readonly decisions: () => readonly PopulationEvent[]
  /** Delivers what learners send to other actors of the run; absent where they send nothing. */
  readonly fromLearner: SendCall | undefined
  /** The device that the run shares with other jobs, if it does. */
  readonly shared: SharedDevice | undefined
  /** The arenas that those jobs share; undefined if they have their own. */
  readonly arenas: Handle | undefined
}

/** A device on which several jobs take turns, and this job's place there. */
export interface SharedDevice {
  readonly lease: Handle
  readonly job: number
  /** The rated link that the jobs share, if theirs is rated. */
  readonly link?: Handle
  readonly admission: Admission
}

const LEARNER = new URL('../actors/learner.js', import.meta.url)

/**
 * Puts data and programs into the engine and starts the actors. The learners have joined the group and wait for `train`. `learnerModule` exports the
 * learner. Throws OUT_OF_MEMORY, LEARNER_FAILED and what the actors throw.
 */
export async function startActors(run: PreparedRun, learnerModule: URL, scope: JobScope, hooks: RunHooks): Promise<RunActors> {
  const { dataset, programs, settings, sourcePlan } = run
  const { engine, handles } = scope
  // What the search for a plan has freed, of which the C library keeps some ten megabytes, must not lie beside what the limit allows.
  if (run.restoration) engine.trim()
  const moved = movedVectors(run, scope)
  const synchroniser = await startSynchroniser(run, scope, hooks, moved)
  const group = await synchroniser.ask.group()

  const compiled = ({ program, ...pass }: ProgramPass): EvaluationPass => ({ ...pass, program: handles.own(engine.createProgram(program)) })
  const statistics = programs.statistics && { ...compiled(programs.statistics), values: statisticValues(programs.statistics) }
  const passes = await inTurns(mapInPieces(programs.evaluate, compiled))
  const ranks = run.hosts?.host.ranks ?? []
  const shares = evaluationShares(passes, run.evaluators, run.hosts && { rank: run.hosts.host.numberOf(), size: ranks.length })
  const sources = makeSources(dataset, sourcePlan, shares.length, scope)
  const feed = await startFeed(dataset, sources.streams, scope, { seed: settings.seed, skipped: hooks.skipped })
  // Over several hosts they compute beside the turns: the hosts measure unlike shares, and one would wait for a turn that the others do not need.
  const turns = run.hosts ? undefined : hooks.shared
  const evaluators = await startEvaluators(run, scope, { group, feed, sources, shares, statistics, turns, moved })

  const supervisor = await startSupervisor(run, learnerModule, scope, hooks, { group, sources, moved })
  const feedStatus = sourcePlan.train ? () => engine.streamStatus(sources.train) : undefined
  const dataWaited = () => feedStatus?.().waitSeconds ?? 0
  const asks = supervisor.askWith({ deadline: Infinity })
  const own: HostLearners = {
    population: () => asks.population(),
    prepare: (learners) => asks.prepare(learners),
    resizeNow: (learners) => asks.resizeNow(learners),
    replaceNow: (place) => asks.replaceNow(place),
    messageNow: (place, method, args) => asks.messageNow(place, method, args),
    repeatNow: (place, messages) => asks.repeatNow(place, messages),
    figuresAfter: (round) => synchroniser.askWith({ deadline: Infinity }).roundsAfter(round),
    findings: () => evaluators.findings()
  }
  const leader = leaderOf(run.hosts)
  const all = leader && new LearnersOfHosts(run.hosts!.host, leader, own, settings.learners)
  const measuring = all && isSharedOut(programs.evaluate, run.hosts!.host.size) ? all : own
  const measure = async () => evaluators.scoresOf(await measuring.findings())
  /** Evaluators of this host for the share of another one. */
  const substitutes = async (rank: number): Promise<Evaluators> => {
    const taken = evaluationShares(passes, 1, { rank: ranks.indexOf(rank), size: ranks.length })
    const plan = planTestSources(dataset, taken, run.dataMemory)
    const { tests, streams } = plan ? makeTestSources(dataset, plan, taken.length, scope) : { tests: sources.tests, streams: [] }
    const feedOfShare = await startFeed(dataset, streams, scope, { seed: settings.seed, skipped: hooks.skipped })
    const taking = { sources: { ...sources, tests }, shares: taken, turns }
    return startEvaluators(run, scope, { group, feed: feedOfShare, statistics, moved, ...taking })
  }
  const loseHost = async (rank: number) => {
    const instead = measuring === all ? await substitutes(rank) : undefined
    all!.lose(rank, async () => instead?.findings() ?? [])
  }
  return {
    synchroniser,
    status: await synchroniser.ask.statusReader(),
    supervisor,
    learners: all ?? own,
    evaluators,
    measure,
    loseHost,
    feed,
    group,
    moved: moved?.all ? moved.vectors : undefined,
    dataWaited,
    feedStatus
  }
}

/** The second tier of the run's vectors, which its group, its learners and its evaluators use; undefined if all of them lie on the device. */
function movedVectors({ moved, settings, programs }: PreparedRun, { engine, handles }: JobScope): MovedVectorsUse | undefined {
  if (!moved) return undefined
  const { parameters: layout } = programs.train
  const vectors = handles.own(engine.createMovedVectors({ backend: settings.backend, layout, tier: tierOf(settings) }))
  return { vectors, all: moved === 'all' }
}

function tierOf({ spill }: Pick<Settings, 'spill'>): HostTierSpec {
  return spill === undefined ? {} : { folder: spill }
}

async function startSynchroniser(
  { model, dataset, programs, settings, resumption, hosts, schedule, exchange }: PreparedRun,
  { engine, system, handles }: JobScope,
  { control, shared }: RunHooks,
  moved: MovedVectorsUse | undefined
): Promise<ActorRef<Synchroniser>> {
  const { link: bytesPerSecond, ruleAt, order, racks } = settings.devices
  const ownLink = () => (bytesPerSecond === undefined ? undefined : handles.own(engine.createRatedLink({ bytesPerSecond, latency: 0 })))
  const link = shared?.link ?? ownLink()
  const rule = presentRule(settings)
  const { parameters: layout } = programs.train
  const level: LevelSpec | undefined =
    hosts && rule.kind === 'synchronous'
      ? hostsLevel(engine, hosts.host.handle, hosts.host.capacities, {
          layout,
          rule,
          ...(ruleAt && { ruleAt }),
          ...(order && { order }),
          ...(exchange && { exchange: exchange.exchange }),
          ...(racks && { racks })
        })
      : link && { kind: 'loopback', link }
  const spec = { ...groupSpec(programs.train, settings, dataset.train.count, level), rule, ...(moved && { moved }) }
  const group = { ...spec, initial: await firstWeights(model, settings) }
  const resumes = resumption && { resumes: resumption.group }
  const { learningRates, restarts, iterations } = schedule
  leaderOf(hosts)?.serve(group, {
    ruleAt: ruleAt ?? 'all',
    sumOrder: order ?? 'ranks',
    schedule: { learningRates, restarts, iterations },
    ...resumes
  })
  const options = { engine, group, control, ...resumes }
  const own = await actorClass(Synchroniser, 'synchroniserActor', settings.synchroniserActor)
  const synchroniser = await system.spawnLocal(own, options, { name: 'synchroniser' })
  // The engine has its own copy. An actor of the user's and the messages to other hosts may still hold these weights.
  if (own === Synchroniser && !leaderOf(hosts)) giveBack(group.initial)
  return synchroniser
}

/** The first central model in canonical order: random by the seed, or from a file. Throws what `importWeights` throws. */
export async function firstWeights(
  model: Model,
  { initial: folder, initialWeights: initial, seed }: Pick<Settings, 'initial' | 'initialWeights' | 'seed'>
): Promise<Float32Array> {
  if (folder !== undefined) return (await folderWeights(readFolder(folder), model, { seed })).parameters
  if (initial) return (await importFile(await findModelFile(initial.file), model, { ...initial, seed })).parameters
  return initialParametersInTurns(await inTurns(predictionGraphInPieces(model)), seed)
}

function startEvaluators(
  { model, dataset, programs, settings, metrics }: PreparedRun,
  scope: JobScope,
  {
    group,
    feed,
    sources,
    shares,
    statistics,
    turns,
    moved
  }: {
    readonly moved: MovedVectorsUse | undefined
    readonly group: Handle
    readonly feed: Feed
    readonly sources: Sources
    readonly shares: readonly (readonly EvaluationPass[])[]
    readonly statistics: Omit<StatisticsPass, 'samples'> | undefined
    readonly turns: SharedDevice | undefined
  }
): Promise<Evaluators> {
  const { engine, handles } = scope
  const { backend, threads, seed } = settings
  // Cores compute in one memory.
  const devices = engine.capabilities(backend).usesCores ? 1 : settings.devices.devices.length
  const layout = programs.train.parameters
  const place = turns && { lease: turns.lease, job: turns.job }
  return Evaluators.start(
    {
      feed,
      group,
      replicas: shares.map((_, i) =>
        handles.own(engine.createReplica({ backend, device: i % devices, layout, threads, seed, ...place, ...(moved?.all && { moved }) }))
      ),
      tests: sources.tests,
      shares,
      ...(statistics && { statistics: { ...statistics, samples: sources.statistics } }),
      answers: answersPerSample(model, dataset),
      metrics
    },
    scope
  )
}

function statisticValues({ program }: ProgramPass): StatisticsPass['values'] {
  return program.values.filter(({ role }) => role === 'statistic').map(({ name, shape }) => ({ name, elements: elements(shape) }))
}

async function startSupervisor(
  { model, dataset, programs, settings: all, schedule, resumption, hosts }: PreparedRun,
  learnerModule: URL,
  { engine, engineModule, system, handles }: JobScope,
  { trace, onFailure, record, leavesVacant, logged, control, decisions, fromLearner, shared, arenas: ofAllJobs }: RunHooks,
  { group, sources, moved }: { readonly group: Handle; readonly sources: Sources; readonly moved: MovedVectorsUse | undefined }
): Promise<ActorRef<Supervisor>> {
  const settings = hosts?.host.ownSettings(all) ?? all
  const { backend, learners, threads, seed, supervision } = settings
  const { devices } = settings.devices
  const layout = programs.train.parameters
  const program = handles.own(engine.createProgram(programs.train))
  const { activations: bytes, staged } = programs.train.arenas
  const tier = tierOf(settings)
  const makeArenas = (count: number) =>
    handles.own(engine.createArenas({ backend, sizes: Array.from({ length: count }, () => bytes), staged, tier }))
  const arenas = ofAllJobs === undefined ? sharedArenas(engine, settings)?.map(makeArenas) : [ofAllJobs]
  const task: LearnerTask = {
    model,
    step: programs.train,
    recipe: { ...trainingOptions(dataset, settings), parameters: layout, ...(moved?.all && { vectors: 'host' as const }) },
    learners: all.learners,
    samples: dataset.train.count,
    iterations: schedule.iterations
  }
  // The first learners meet in the order of the checkpoint, and get their states from the checkpoint; all later ones begin at the central model.
  const { order: meets = [] } = resumption?.state ?? {}
  const order = hosts?.host.ownPlaces(meets) ?? meets
  const places = [...new Set([...order.filter((place) => place < learners), ...Array.from({ length: learners }, (_, place) => place)])]
  const inRun = (own: number) => hosts?.host.placeOf(own) ?? own
  const stateFile = (learner: number) => (learner < learners ? resumption?.learner(inRun(places[learner]!)) : undefined)
  const resumed = (learner: number) => stateFile(learner) !== undefined
  const spawn: SpawnLearner = async (spawner, learner, rank, heartbeat) => {
    const resumes = stateFile(learner)
    const device = rank % devices.length
    const { cores } = devices[device]!
    const options: LearnerOptions = {
      engine: engineModule.href,
      module: learnerModule.href,
      options: settings.learnerOptions,
      replica: {
        backend,
        device,
        layout,
        threads,
        seed,
        group,
        learner,
        tier,
        ...(moved && { moved }),
        ...(arenas && { arenas: arenas[device]! }),
        ...(shared && { lease: shared.lease, job: shared.job })
      },
      program,
      dataset: sources.train,
      task,
      rank: inRun(rank),
      number: inRun(learner),
      ...(cores.length > 0 && { cores }),
      heartbeat: heartbeat.memory,
      ...(resumes !== undefined && { resumes, messages: messagesTo(inRun(rank), settings.changes, { before: resumption?.state.round }) }),
      ...(trace && { trace: trace.learner(learner) })
    }
    const cancel = () => engine.evict(group, learner)
    const way = fromLearner && answeredPort((call) => fromLearner(call as RunCall)).port
    const whole = way ? transfer({ ...options, actors: way }, [way]) : options
    const ref = await spawner.spawn<typeof Learner>(LEARNER, 'Learner', whole, { name: `learner ${learner}`, cancel })
    if (settings.learner) ref.tell.logTo(sendingPort(([iteration, metrics]: LogLine) => logged(inRun(learner), iteration, metrics)))
    return ref
  }
  const supervisor = await system.spawnLocal(
    await actorClass(Supervisor, 'supervisor', settings.supervisor),
    {
      engine,
      group,
      learners,
      devices: devices.length,
      supervision,
      spawn,
      onFailure,
      record,
      isAwaiting: (place) => record.isAwaiting(place),
      resumed,
      leavesVacant,
      control,
      decisions,
      numberOf: (place) => places.indexOf(place)
    },
    { name: 'supervisor' }
  )
  await supervisor.askWith({ deadline: Infinity }).start()
  return supervisor
}
