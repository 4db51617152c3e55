import type { EvaluationPass, StatisticsPass } from '../../actors/evaluator.js'
import { Evaluators } from '../../actors/evaluators.js'
import type { Feed } from '../../actors/feed.js'
import type { JobScope } from '../../actors/job-scope.js'
import type { Sources } from '../../actors/sources.js'
import { positionsOf } from '../../data/dataset.js'
import type { Handle, MovedVectorsUse } from '../../engine/contract.js'
import { elements } from '../../model/graph.js'
import { answersPerSample, type ProgramPass } from '../../trained/programs.js'
import { inTurns, mapInPieces } from '../../turns.js'
import type { PreparedRun } from '../prepare/prepare.js'
import type { SharedDevice } from './shared-device.js'

/** The passes by which a run measures its central model, with their programs in the engine. */
export interface MeasuringPasses {
  readonly evaluate: readonly EvaluationPass[]
  /** Absent if the model has no batch norm. */
  readonly statistics: Omit<StatisticsPass, 'samples'> | undefined
}

/** What evaluators work with. */
export interface EvaluatorParts {
  readonly group: Handle
  readonly feed: Feed
  readonly sources: Sources
  /** One for each evaluator. */
  readonly shares: readonly (readonly EvaluationPass[])[]
  readonly statistics: MeasuringPasses['statistics']
  readonly moved: MovedVectorsUse | undefined
}

/** Puts the programs into the engine, in turns with the event loop. */
export async function measuringPasses({ programs }: PreparedRun, { engine, handles }: JobScope): Promise<MeasuringPasses> {
  const compiled = ({ program, ...pass }: ProgramPass): EvaluationPass => ({ ...pass, program: handles.own(engine.createProgram(program)) })
  const statistics = programs.statistics && { ...compiled(programs.statistics), values: statisticValues(programs.statistics) }
  return { statistics, evaluate: await inTurns(mapInPieces(programs.evaluate, compiled)) }
}

function statisticValues({ program }: ProgramPass): StatisticsPass['values'] {
  return program.values.filter(({ role }) => role === 'statistic').map(({ name, shape }) => ({ name, elements: elements(shape) }))
}

/** An evaluator for each share, with a replica. On a `shared` device they take turns with other jobs. */
export function startEvaluators(
  { model, dataset, programs, settings, metrics, hosts }: PreparedRun,
  scope: JobScope,
  shared: SharedDevice | undefined,
  { group, feed, sources, shares, statistics, moved }: EvaluatorParts
): Promise<Evaluators> {
  const { engine, handles } = scope
  const { backend, threads, seed } = settings
  // Cores compute in one memory.
  const devices = engine.capabilities(backend).usesCores ? 1 : settings.devices.devices.length
  const layout = programs.train.parameters
  // Over several hosts they compute beside the turns: the hosts measure unlike shares, and one would wait for a turn that the others do not need.
  const place = shared && !hosts && { lease: shared.lease, job: shared.job }
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
      positions: positionsOf(dataset),
      metrics
    },
    scope
  )
}
