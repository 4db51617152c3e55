import { evaluationShares, evaluatorCount, type EvaluationHost } from '../../actors/evaluators.js'
import { planSources, type SourcePlan } from '../../actors/sources.js'
import { resumptionOf, type Resumption } from '../../checkpoints/resume.js'
import { identityOf, type RunIdentity } from '../../checkpoints/run-identity.js'
import type { Restoration } from '../../compiler/tiers/restoration.js'
import { hashOf } from '../../data/content-hash.js'
import type { Dataset } from '../../data/dataset.js'
import type { Engine } from '../../engine/contract.js'
import { loweringBackend } from '../../engine/lowering.js'
import { ArbalestError } from '../../errors.js'
import type { MetricPlan } from '../../metrics/metrics.js'
import type { Model } from '../../model/model.js'
import type { LevelsEvent, ResumedEvent } from '../../observe/events.js'
import { checkLevels } from '../../options/devices.js'
import type { Settings } from '../../options/settings.js'
import type { Intervention } from '../../schedules/interventions.js'
import { mostLearners, type PopulationSchedule } from '../../schedules/population.js'
import { inTurns } from '../../turns.js'
import { agreedExchange, type AgreedExchange } from '../hosts/agreed-exchange.js'
import { leaderOf, meet, ownSettings, type Hosts } from '../hosts/meeting.js'
import { firstWeights } from '../start/first-weights.js'
import { chosenLevels } from '../start/level-order.js'
import { MemoryBudget } from '../memory/budget.js'
import { fitRun } from '../memory/fit-run.js'
import type { MemoryNeed, MovedVectors } from '../memory/need.js'
import { PlanningThread } from '../memory/planning-thread.js'
import { runTrial } from '../memory/run-trial.js'
import { openSubject } from './open-subject.js'
import { compilePrograms, type RunPrograms } from './programs.js'
import { checkReports, loadRunSettings, type RunSettings } from '../run-settings.js'
import { scheduleOf, type Schedule } from '../schedule.js'
import { checkSpill } from '../explain/speeds.js'
import { StoppedEarly } from '../stopped-early.js'
import { TieredPrograms } from './tiered-programs.js'
import { wantedMetrics } from './wanted-metrics.js'

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
  const { dataset, model } = await openSubject(ownSettings(hosts, given), engine, stop).catch((error: unknown) => {
    throw stop?.aborted ? new StoppedEarly() : error
  })
  const lowering = loweringBackend(engine, given.backend, given.threads)
  const check = () => {
    if (stop?.aborted) throw new StoppedEarly()
  }
  const programs = await TieredPrograms.compile((placed) => inTurns(compilePrograms(model, dataset, given, lowering, placed), { check }))
  const onDevice = programs.of(undefined)
  const metrics = wantedMetrics(model, dataset, onDevice.predict, given)
  const layout = onDevice.train.parameters
  const asked = await loadRunSettings(given, dataset.train.count)
  checkLevels(asked.devices, asked.rule, asked.optimiser)
  checkReports(asked)

  const own = ownSettings(hosts, asked)
  const budget = MemoryBudget.now(engine, asked)
  const evaluators = evaluatorCount(engine, asked.backend, {
    learners: mostLearners(own.population),
    devices: asked.devices.devices.length
  })
  const dataMemory = budget.forData(engine)
  const host = hosts && { rank: hosts.host.numberOf(), size: hosts.host.size }
  const sourcePlan = planRunSources({ dataset, programs: onDevice, settings: own, evaluators, dataMemory, host })

  const identity = identityOf(model, dataset, layout, asked)
  const isInitialRead = asked.initial !== undefined || asked.initialWeights !== undefined
  const initialHash = hosts && isInitialRead ? hashOf(await firstWeights(model, asked)) : undefined
  const refused: ResumedEvent['refused'][number][] = []
  const refuse = (folder: string, error: ArbalestError) => refused.push({ folder, reason: error.message })
  const find = async () => asked.checkpoint && resumptionOf(asked.checkpoint, { layout, identity }, refuse)
  const { resumption, settings: begins } = await meet(hosts, { settings: asked, layout, identity, initialHash }, find)
  const { backend, threads } = given
  await using planning = new PlanningThread({ engine: module.href, backend, threads, model }, engine, stop)
  const unfitted = { asked, begins, hosts, model, dataset, programs, budget, evaluators, sourcePlan }
  const { settings: fitting, train, memory, restoration, moved } = await fitRun(runTrial(unfitted, engine, planning))
  await leaderOf(hosts)?.begin(resumption, fitting.population.schedule)
  const exchange = hosts && (await agreedExchange(engine, hosts, fitting, layout.bytes))

  const levels = chosenLevels(engine, fitting.devices, fitting.backend, layout.bytes)
  const settings = levels ? { ...fitting, devices: { ...fitting.devices, levels: levels.levels } } : fitting
  const scheduleFor: PreparedRun['scheduleFor'] = (population, changes) => scheduleOf(settings, dataset.train.count, population, changes)
  return {
    settings,
    model,
    dataset,
    programs: { ...programs.of(moved), train },
    evaluators,
    metrics,
    budget,
    dataMemory,
    sourcePlan,
    need: memory.need,
    arenas: memory.arenas(budget.ofDevice(mostLearners(ownSettings(hosts, settings).population))),
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

function checkPrecision(engine: Engine, { backend, precision }: Settings): void {
  const { backends, processor } = engine.describe()
  const found = backends.find(({ name }) => name === backend)
  // An engine that cannot be loaded throws its own error at the first call.
  if (!found?.available || found.precisions.includes(precision)) return
  const message = `precision: received ${precision}; backend ${backend} on ${processor} computes in ${found.precisions.join(', ')} only: use one of them`
  throw new ArbalestError('UNSUPPORTED_PRECISION', message, { data: { precision, backend, precisions: found.precisions } })
}
