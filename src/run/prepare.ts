import type { Dataset } from '../data/dataset.js'
import { openData } from '../data/open.js'
import type { Engine } from '../engine/contract.js'
import { loweringBackend } from '../engine/lowering.js'
import { ArbalestError } from '../errors.js'
import { loadOperators } from '../model/composed.js'
import type { Model } from '../model/model.js'
import { imageSizeOf, modelNamed } from '../model/zoo/index.js'
import { evaluatorCount, mostLearners, sharesOf } from './run-actors.js'
import type { LevelsEvent, ResumedEvent } from '../observe/events.js'
import { chosenLevels } from './levels.js'
import { memoryNeed, type MemoryNeed } from './memory/memory.js'
import { changedAt } from '../schedules/population.js'
import { programsOf, type Programs } from '../trained/programs.js'
import { resumptionOf, type Resumption } from '../checkpoints/resume.js'
import { checkMemory, roomFor, roomForData, roomOf, type Room } from './memory/room.js'
import { identityOf, type RunIdentity } from '../checkpoints/run-identity.js'
import { loadedSettings, resumedSettings, type RunSettings } from './run-settings.js'
import type { Settings } from '../options/settings.js'
import { checkLevels } from '../options/devices.js'
import { sharedArenas, totalArenas } from './memory/shared-arenas.js'
import { planSources, type SourceNeeds, type SourcePlan } from '../actors/sources.js'
import { DRY_STEPS, fewSamples } from './trial.js'
import { vectorCount } from './memory/vectors.js'

/** All that is settled before a run's first actor starts. */
export interface PreparedRun {
  readonly model: Model
  readonly dataset: Dataset
  readonly programs: Programs
  readonly settings: RunSettings
  /** The same, as they would be were this no dry run. */
  readonly planned: RunSettings
  readonly need: MemoryNeed
  /** Before anything was taken. */
  readonly room: Room
  /** Bytes that data may take. */
  readonly dataMemory: number
  readonly identity: RunIdentity
  readonly levels: LevelsEvent | undefined
  readonly resumption: Resumption | undefined
  /** Newer checkpoints that are damaged. */
  readonly refused: ResumedEvent['refused']
}

/** Opens the data, compiles the programs and settles what was left open. Throws what these throw, and OUT_OF_MEMORY. */
export async function prepareRun(given: Settings, engine: Engine): Promise<PreparedRun> {
  checkPrecision(engine, given)
  const dataset = await openedDataset(given)
  const model = await openedModel(given, dataset)
  const programs = programsOf(model, dataset, given, loweringBackend(engine, given.backend, given.threads))
  const asked = await loadedSettings(given, dataset.train.count)
  checkLevels(asked.devices, asked.rule)
  const room = roomOf(engine, asked)
  const dataMemory = roomForData(engine, room)
  const need = memoryOf(programs, planSources(dataset, sourceNeeds(programs, asked), dataMemory), asked)
  const layout = programs.train.parameters
  const identity = identityOf(model, dataset, layout, asked)
  const { dryRun } = asked.trial
  const refused: ResumedEvent['refused'][number][] = []
  const refuse = (folder: string, error: ArbalestError) => refused.push({ folder, reason: error.message })
  const resumption = asked.checkpoint && !dryRun ? await resumptionOf(asked.checkpoint, { layout, identity }, refuse) : undefined
  const planned = withinMemory(resumption ? resumedSettings(asked, resumption.state) : asked, need, room)
  const limited = dryRun ? { ...planned, until: { ...planned.until, epochs: Infinity, steps: DRY_STEPS } } : planned
  const levels = chosenLevels(engine, limited.devices, limited.backend, layout.bytes)
  const settings = levels ? { ...limited, devices: { ...limited.devices, levels: levels.levels } } : limited
  checkMemory(need, Math.max(...settings.population.schedule.map(({ learners }) => learners)), room)
  return { model, dataset, programs, settings, planned, need, room, dataMemory, identity, levels, resumption, refused }
}

async function openedDataset({ data, dataDir: directory, context, images, trial, batch }: Settings): Promise<Dataset> {
  const dataset = typeof data === 'string' ? await openData(data, { directory, context, images }) : data
  return trial.overfit === undefined ? dataset : fewSamples(dataset, { batches: trial.overfit, batch })
}

async function openedModel({ model: given, size, labelSmoothing }: Settings, { sample: input, classes }: Dataset): Promise<Model> {
  const model = typeof given === 'string' ? modelNamed(given, { input, classes }, size) : given
  await loadOperators(model)
  return labelSmoothing === undefined ? model : { ...model, labelSmoothing }
}

/** Who is tuned begins with no more than what fits. */
function withinMemory(settings: RunSettings, need: MemoryNeed, there: Room): RunSettings {
  const { schedule, tuning } = settings.population
  if (!tuning) return settings
  const room = Math.max(1, roomFor(need, there))
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

/** What the programs of a run read of its data. */
export function sourceNeeds({ statistics, evaluate }: Programs, settings: RunSettings): SourceNeeds {
  const shares = sharesOf(evaluate, evaluatorCount(settings))
  return { batch: settings.batch, learners: mostLearners(settings), statistics, shares }
}

function memoryOf({ train, statistics, evaluate, predict }: Programs, plan: SourcePlan, settings: RunSettings): MemoryNeed {
  const evaluation = [...evaluate.map(({ program }) => program), predict, ...(statistics ? [statistics.program] : [])]
  const measuring = { programs: evaluation, replicas: evaluatorCount(settings) }
  const arenas = sharedArenas(settings)
  return memoryNeed(train, measuring, plan.bytes, {
    vectors: vectorCount(train, settings.rule, settings.average, settings.devices),
    arenas: arenas && totalArenas(arenas),
    checkpoints: settings.checkpoint !== undefined && !settings.trial.dryRun
  })
}

function checkPrecision(engine: Engine, { backend, precision }: Settings): void {
  const { backends, processor } = engine.describe()
  const found = backends.find(({ name }) => name === backend)
  // An engine that cannot be loaded says so itself at its first call.
  if (!found?.available || found.precisions.includes(precision)) return
  const message = `precision: received ${precision}; backend ${backend} on ${processor} computes in ${found.precisions.join(', ')} only: use one of them`
  throw new ArbalestError('UNSUPPORTED_PRECISION', message, { data: { precision, backend, precisions: found.precisions } })
}
