import { evaluationShares, evaluatorCount, type EvaluationHost } from '../actors/evaluators.js'
import { planSources, type SourcePlan } from '../actors/sources.js'
import { resumptionOf, type Resumption } from '../checkpoints/resume.js'
import { identityOf, type RunIdentity } from '../checkpoints/run-identity.js'
import type { Dataset } from '../data/dataset.js'
import { readsText } from '../data/dataset-names.js'
import { openData, type OpenDatasetOptions } from '../data/open.js'
import { readFolder, type HuggingFaceFolder } from '../formats/huggingface/folder.js'
import { checkFolderWeights } from '../formats/huggingface/read-folder-model.js'
import type { Engine } from '../engine/contract.js'
import { loweringBackend } from '../engine/lowering.js'
import { ArbalestError, invalidOption } from '../errors.js'
import type { Program } from '../compiler/program.js'
import type { Restoration } from '../compiler/tiers/restoration.js'
import { loadOperators } from '../model/composed.js'
import { checkSuits, isScalar, type MetricName } from '../metrics/metric-names.js'
import type { MetricPlan } from '../metrics/metrics.js'
import type { Model } from '../model/model.js'
import { modelNamed } from '../model/zoo/index.js'
import type { LevelsEvent, ResumedEvent } from '../observe/events.js'
import { checkLevels } from '../options/devices.js'
import type { Settings } from '../options/settings.js'
import { inTurns } from '../turns.js'
import type { Intervention } from '../schedules/interventions.js'
import { metricPlan, taskOfModel } from '../trained/programs.js'
import { mostLearners, type PopulationSchedule } from '../schedules/population.js'
import { groupSpec } from './group-spec.js'
import { agreedExchange, type AgreedExchange } from './hosts/agreed-exchange.js'
import { leaderOf, meet, type Hosts } from './hosts/meeting.js'
import { chosenLevels } from './level-order.js'
import { MemoryBudget } from './memory/budget.js'
import { fitRun, type RunTrial } from './memory/fit-run.js'
import { PlanningThread } from './memory/planning-thread.js'
import { RunMemory, type MemoryNeed, type MovedVectors } from './memory/need.js'
import { sharedArenas, totalArenas } from './memory/shared-arenas.js'
import { firstBatches } from './overfit.js'
import { compilePrograms, trainingOptions, type RunPrograms } from './programs.js'
import { checkReports, loadRunSettings, type RunSettings } from './run-settings.js'
import { checkCost } from './run-cost.js'
import { scheduleOf, type Schedule } from './schedule.js'
import { checkSpill, runSpeeds, transferSpeed } from './speeds.js'
import { StoppedEarly } from './stopped-early.js'

/** Everything that is decided before the first actor of a run starts. */
export interface PreparedRun {
  readonly settings: RunSettings
  readonly model: Model
  readonly dataset: Dataset
  readonly programs: RunPrograms
  readonly evaluators: number
  /** What evaluations tell beside loss and accuracy. */
  readonly metrics: MetricPlan | undefined
  /** The memory that was free before the run took any. */
  readonly budget: MemoryBudget
  /** Bytes that data may take. */
  readonly dataMemory: number
  readonly sourcePlan: SourcePlan
  readonly need: MemoryNeed
  /** The arenas in which a device's learners compute, in bytes each; a part of the need. */
  readonly arenas: readonly number[]
  /** What it costs to stay within the memory; undefined if the run holds everything. */
  readonly restoration: Restoration | undefined
  /** The vectors that lie in the second tier. */
  readonly moved: MovedVectors
  readonly identity: RunIdentity
  readonly levels: LevelsEvent | undefined
  /** How the hosts sum, where there are several. */
  readonly exchange: AgreedExchange | undefined
  readonly schedule: Schedule
  /** The schedule after a change of the population, or of what programs have changed. */
  readonly scheduleFor: (population: PopulationSchedule, changes?: readonly Intervention[]) => Schedule
  /** Absent if this process trains alone. */
  readonly hosts: Hosts | undefined
  readonly resumption: Resumption | undefined
  /** Checkpoints newer than the one that the run goes on from, which are damaged. */
  readonly refused: ResumedEvent['refused']
}

/**
 * Opens the data, compiles the programs in turns with the event loop, and decides all that the options leave open. Throws what these throw, OUT_OF_MEMORY, and
 * a StoppedEarly.
 */
export async function prepareRun(given: Settings, engine: Engine, module: URL, stop?: AbortSignal, hosts?: Hosts): Promise<PreparedRun> {
  checkPrecision(engine, given)
  checkSpill(engine, given)
  const initial = given.initial === undefined ? undefined : readFolder(given.initial)
  if (initial) await checkFolderWeights(initial, initial.model.modelFor({}))
  const dataset = await openDataset(given, initial)
  checkCost(given, dataset, engine)
  const model = await openModel(given, dataset, initial)
  const lowering = loweringBackend(engine, given.backend, given.threads)
  const compiling = compilePrograms(model, dataset, given, lowering)
  const check = () => {
    if (stop?.aborted) throw new StoppedEarly()
  }
  const compiled = await inTurns(compiling, { check })
  const metrics = wantedMetrics(model, dataset, compiled.predict, given)
  const layout = compiled.train.parameters
  const asked = await loadRunSettings(given, dataset.train.count)
  checkLevels(asked.devices, asked.rule, asked.optimiser)
  checkReports(asked)

  // What this process makes.
  const own = <Given extends RunSettings>(settings: Given): Given => hosts?.host.ownSettings(settings) ?? settings

  const budget = MemoryBudget.now(engine, asked)
  const evaluators = evaluatorCount(engine, asked.backend, {
    learners: mostLearners(own(asked).population),
    devices: asked.devices.devices.length
  })
  const dataMemory = budget.forData(engine)
  const sourcePlan = planRunSources({
    dataset,
    programs: compiled,
    settings: own(asked),
    evaluators,
    dataMemory,
    host: hosts && { rank: hosts.host.numberOf(), size: hosts.host.size }
  })

  const identity = identityOf(model, dataset, layout, asked)
  const refused: ResumedEvent['refused'][number][] = []
  const refuse = (folder: string, error: ArbalestError) => refused.push({ folder, reason: error.message })
  const find = async () => asked.checkpoint && resumptionOf(asked.checkpoint, { layout, identity }, refuse)
  const { resumption, settings: begins } = await meet(hosts, { settings: asked, dataset, layout, identity }, find)
  // For vectors in the second tier all programs are others; they are compiled where nothing else fits.
  let programs = compiled
  const programsOf = async (moved: MovedVectors): Promise<RunPrograms> => {
    if (moved !== 'all') return compiled
    const placed = { parameters: layout, vectors: 'host' } as const
    if (programs === compiled) programs = await inTurns(compilePrograms(model, dataset, given, lowering, placed), { check })
    return programs
  }
  const { backend, threads } = given
  await using planning = new PlanningThread({ engine: module.href, backend, threads, model }, engine, stop)
  const trial: RunTrial = {
    settings: begins,
    hosts: hosts?.host.size ?? 1,
    budget,
    stepOf: async (moved) => (await programsOf(moved)).train,
    memoryOf: (train, { population }, moved) =>
      memoryOf(engine, { ...(moved === 'all' ? programs : compiled), train }, own({ ...asked, population }), {
        dataset,
        evaluators,
        samples: sourcePlan.bytes,
        moved
      }),
    compile: (limit, moved) =>
      planning.compile({
        ...trainingOptions(dataset, given),
        mode: 'train',
        parameters: layout,
        vectors: moved === 'all' ? 'host' : 'device',
        limit
      }),
    learnersOf: (settings) => mostLearners(own(settings).population),
    speeds: () => runSpeeds(engine, asked),
    transfers: () => transferSpeed(engine, asked, mostLearners(own(asked).population))
  }
  const { settings: fitting, train, memory, restoration, moved } = await fitRun(trial)
  await leaderOf(hosts)?.begin(resumption, fitting.population.schedule)
  const exchange = hosts && (await agreedExchange(engine, hosts, fitting, layout.bytes))

  const levels = chosenLevels(engine, fitting.devices, fitting.backend, layout.bytes)
  const settings = levels ? { ...fitting, devices: { ...fitting.devices, levels: levels.levels } } : fitting
  const scheduleFor: PreparedRun['scheduleFor'] = (population, changes) => scheduleOf(settings, dataset.train.count, population, changes)
  return {
    settings,
    model,
    dataset,
    programs: { ...(moved === 'all' ? programs : compiled), train },
    evaluators,
    metrics,
    budget,
    dataMemory,
    sourcePlan,
    need: memory.need,
    arenas: memory.arenas(budget.ofDevice(mostLearners(own(settings).population))),
    restoration,
    moved,
    identity,
    levels,
    exchange,
    schedule: scheduleFor(settings.population.schedule),
    scheduleFor,
    hosts,
    resumption,
    refused
  }
}

const TOLD_OF_NUMBERS: readonly MetricName[] = ['r2', 'mae']

/** The metrics of the options, and the one that is monitored. Throws INVALID_OPTION for those that the model's task does not have. */
function wantedMetrics(
  model: Model,
  dataset: Dataset,
  predict: Program,
  { metrics: given, until: { monitor, accuracy } }: Settings
): MetricPlan | undefined {
  const task = taskOfModel(model, predict)
  // What people ask of a regression, in the unit of the target.
  const metrics = given.length === 0 && task.kind === 'numbers' && dataset.encoding ? TOLD_OF_NUMBERS : given
  checkSuits(metrics, task)
  if (accuracy !== undefined && task.kind === 'numbers')
    throw invalidOption('until.accuracy', accuracy, 'the model gives numbers, which are never exactly right: use until.loss')
  if (monitor === 'accuracy' && task.kind === 'numbers')
    throw invalidOption('until.monitor', monitor, 'the model gives numbers, not classes: use some of loss, r2, mae, rmse')
  if (monitor === undefined || !isScalar(monitor)) return metricPlan([...new Set(metrics)], task, dataset)
  checkSuits([monitor], task, 'until.monitor')
  return metricPlan([...new Set([...metrics, monitor])], task, dataset)
}

async function openDataset(
  { data, dataDir: directory, context, tokenizer, images, table, overfit, batch }: Settings,
  folder: HuggingFaceFolder | undefined
): Promise<Dataset> {
  const tokens = folder ? tokensOf(folder, { context, tokenizer }) : { context, tokenizer }
  const dataset =
    typeof data === 'string'
      ? await openData(data, { directory, images, table, ...(readsText(data) ? tokens : { context, tokenizer }) })
      : data
  return overfit === undefined ? dataset : firstBatches(dataset, { batches: overfit, batch })
}

/** A model of a folder reads texts as it did before, in windows that a machine without a GPU can bear if nothing else is asked for. */
function tokensOf(
  { architecture, model, tokenizer, path }: HuggingFaceFolder,
  given: Pick<OpenDatasetOptions, 'context' | 'tokenizer'>
): Pick<OpenDatasetOptions, 'context' | 'tokenizer' | 'vocabulary'> {
  if (architecture.samples !== 'tokens') return given
  const files = given.tokenizer ?? tokenizer
  if (files === undefined)
    throw invalidOption(
      'initial',
      path,
      'this folder has no tokenizer (tokenizer.json, or vocab.json and merges.txt): give one with tokenizer (--tokenizer)'
    )
  const context = given.context ?? Math.min(USUAL_CONTEXT, model.modelFor({}).input[0]!)
  return { context, tokenizer: files, vocabulary: model.classes }
}

const USUAL_CONTEXT = 128

async function openModel(
  { model: given, size, labelSmoothing }: Settings,
  { sample: input, classes, encoding, train: { target } }: Dataset,
  folder: HuggingFaceFolder | undefined
): Promise<Model> {
  if (folder && classes === 0) throw invalidOption('initial', folder.path, 'the targets of the data are numbers: its model is a classifier')
  const model = folder
    ? folder.model.modelFor({ input, classes })
    : typeof given === 'string'
      ? modelNamed(
          given,
          { input, classes, ...(encoding?.kind === 'tokens' && { tokens: encoding.tokens! }), ...(target && { target }) },
          size
        )
      : given
  await loadOperators(model)
  return labelSmoothing === undefined ? model : { ...model, labelSmoothing }
}

/** Where the samples of training, statistics and evaluation will come from. */
export function planRunSources({
  dataset,
  programs: { statistics, evaluate },
  settings: { batch, population },
  evaluators,
  dataMemory,
  host
}: Pick<PreparedRun, 'dataset' | 'programs' | 'settings' | 'evaluators' | 'dataMemory'> & {
  readonly host?: EvaluationHost | undefined
}): SourcePlan {
  const shares = evaluationShares(evaluate, evaluators, host)
  return planSources(dataset, { batch, learners: mostLearners(population), statistics, shares }, dataMemory)
}

function memoryOf(
  engine: Engine,
  { train, statistics, evaluate, predict }: RunPrograms,
  settings: RunSettings,
  {
    dataset,
    evaluators,
    samples,
    moved
  }: { readonly dataset: Dataset; readonly evaluators: number; readonly samples: number; readonly moved: MovedVectors }
): RunMemory {
  const programs = [...evaluate.map(({ program }) => program), predict, ...(statistics ? [statistics.program] : [])]
  const arenas = sharedArenas(engine, settings)
  return new RunMemory(engine, {
    backend: settings.backend,
    train,
    moved,
    group: groupSpec(train, settings, dataset.train.count),
    // Devices with memories of their own have one each.
    evaluation: { programs, replicas: engine.capabilities(settings.backend).usesCores ? evaluators : 1 },
    samples,
    arenas: arenas && totalArenas(arenas),
    checkpoints: settings.checkpoint !== undefined
  })
}

function checkPrecision(engine: Engine, { backend, precision }: Settings): void {
  const { backends, processor } = engine.describe()
  const found = backends.find(({ name }) => name === backend)
  // An engine that cannot be loaded throws its own error at the first call.
  if (!found?.available || found.precisions.includes(precision)) return
  const message = `precision: received ${precision}; backend ${backend} on ${processor} computes in ${found.precisions.join(', ')} only: use one of them`
  throw new ArbalestError('UNSUPPORTED_PRECISION', message, { data: { precision, backend, precisions: found.precisions } })
}
