import type { SourcePlan } from '../../actors/sources.js'
import type { Dataset } from '../../data/dataset.js'
import type { Engine } from '../../engine/contract.js'
import type { Model } from '../../model/model.js'
import { mostLearners } from '../../schedules/population.js'
import { groupSpec } from '../start/group-spec.js'
import { ownSettings, type Hosts } from '../hosts/meeting.js'
import { trainingOptions, type RunPrograms } from '../prepare/programs.js'
import type { RunSettings } from '../run-settings.js'
import { runSpeeds, transferSpeed } from '../explain/speeds.js'
import type { TieredPrograms } from '../prepare/tiered-programs.js'
import type { MemoryBudget } from './budget.js'
import type { RunTrial } from './fit-run.js'
import { RunMemory, type MovedVectors } from './need.js'
import type { PlanningThread } from './planning-thread.js'
import { sharedArenas, totalArenas } from './shared-arenas.js'

/** What is known of a run before it is fitted into memory. */
export interface UnfittedRun {
  /** As its options say. */
  readonly asked: RunSettings
  /** As it begins, or goes on from a checkpoint. */
  readonly begins: RunSettings
  readonly hosts: Hosts | undefined
  readonly model: Model
  readonly dataset: Dataset
  readonly programs: TieredPrograms
  readonly budget: MemoryBudget
  readonly evaluators: number
  readonly sourcePlan: SourcePlan
}

/** How the run is tried out. `planning` compiles the training step within limits. */
export function runTrial(run: UnfittedRun, engine: Engine, planning: PlanningThread): RunTrial {
  const { asked, begins, hosts, model, dataset, programs, budget } = run
  const mostOwn = (settings: RunSettings) => mostLearners(ownSettings(hosts, settings).population)
  return {
    settings: begins,
    hosts: hosts?.host.size ?? 1,
    budget,
    stepOf: async (moved) => (await programs.compiledFor(moved)).train,
    memoryOf: (train, { population }, moved) => {
      const settings = ownSettings(hosts, { ...asked, population })
      return memoryOf(run, engine, { ...programs.of(moved), train }, settings, moved)
    },
    compile: (limit, moved) =>
      planning.compile({
        ...trainingOptions(model, dataset, asked),
        mode: 'train',
        parameters: programs.of(undefined).train.parameters,
        vectors: moved === 'all' ? 'host' : 'device',
        limit
      }),
    learnersOf: mostOwn,
    speeds: () => runSpeeds(engine, asked),
    transfers: () => transferSpeed(engine, asked, mostOwn(asked))
  }
}

/** The memory of what this process makes. */
function memoryOf(
  { dataset, evaluators, sourcePlan }: UnfittedRun,
  engine: Engine,
  { train, statistics, evaluate, predict }: RunPrograms,
  settings: RunSettings,
  moved: MovedVectors
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
    samples: sourcePlan.bytes,
    arenas: arenas && totalArenas(arenas),
    checkpoints: settings.checkpoint !== undefined
  })
}
