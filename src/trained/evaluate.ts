import { evaluatorCount, Evaluators, shareOut } from '../actors/evaluators.js'
import { startFeed } from '../actors/feed.js'
import { JobScope } from '../actors/job-scope.js'
import { makeTestSources, planTestSources } from '../actors/sources.js'
import type { Program } from '../compiler/program.js'
import { positionsOf, type Dataset } from '../data/dataset.js'
import type { Engine, Handle } from '../engine/contract.js'
import { freeMemory } from '../engine/free-memory.js'
import { loweringBackend } from '../engine/lowering.js'
import type { FloatTensors } from '../formats/tensor.js'
import type { Model } from '../model/model.js'
import type { Normalisation } from '../model/normalisation.js'
import { inTurns } from '../turns.js'
import { checkSuits, METRIC_HINTS, METRIC_NAMES, usualMetrics, type MetricName } from '../metrics/metric-names.js'
import type { EvaluationMetrics } from '../metrics/metrics.js'
import { check } from '../schema/faults.js'
import { group, option } from '../schema/group.js'
import { list, oneOf } from '../schema/values.js'
import { answersPerSample, evaluationPasses, metricPlan, taskOfModel } from './programs.js'

const evaluateOptions = group({
  metrics: option(list<MetricName, MetricName>(oneOf(METRIC_NAMES, METRIC_HINTS), "a list of names, such as ['f1', 'confusion']"))
})

/** The quality of a model on held-out samples. */
export interface Measurement {
  readonly samples: number
  /** Mean over the samples. */
  readonly testLoss: number
  /** Share of right answers, 0 to 1; null where the targets are not classes. */
  readonly testAccuracy: number | null
  /** Metrics beside them: see `EvaluateOptions`. */
  readonly testMetrics: EvaluationMetrics
  /** That the measurement took. */
  readonly seconds: number
}

/** How `evaluate` measures a model. */
export interface EvaluateOptions {
  /** Which metrics are measured; if omitted, all that the model's task has, and `confusion` only up to 100 classes. */
  readonly metrics?: readonly MetricName[]
}

/** A trained model in the engine. */
export interface EvaluatedModel {
  readonly engine: Engine
  /** Exports the engine. */
  readonly module: URL
  readonly model: Model
  /** Holds the weights. */
  readonly replica: Handle
  /** The program that predicts. */
  readonly program: Program
  readonly normalisation: Normalisation
  /** The second tier in which the weights lie; absent if that is the device. */
  readonly moved?: Handle | undefined
}

/**
 * Measures the model on the test samples, with as many evaluators as in training. All of them have ended when it resolves. Throws INVALID_OPTION for metrics that
 * the model's task does not have, and UNKNOWN_NAME.
 */
export async function evaluate(
  evaluated: EvaluatedModel,
  statistics: FloatTensors,
  data: Dataset,
  options: EvaluateOptions = {}
): Promise<Measurement> {
  const start = performance.now()
  const { metrics: asked } = check(evaluateOptions, options)
  const { engine, module, model, program, normalisation } = evaluated
  const { backend } = program
  const { mean, std } = normalisation
  const passes = await inTurns(
    evaluationPasses(
      model,
      data,
      { predict: program, load: { mean, std }, vectors: evaluated.moved === undefined ? 'device' : 'host' },
      loweringBackend(engine, backend)
    )
  )
  const task = taskOfModel(model, program)
  if (asked !== undefined) checkSuits(asked, task)
  const names = asked ?? usualMetrics(task)
  const metrics = metricPlan(names, task, data)
  const scope = new JobScope(engine, module)
  const { handles } = scope
  try {
    const compiled = passes.map((pass) => ({ ...pass, program: handles.own(engine.createProgram(pass.program)) }))
    const shares = shareOut(compiled, evaluatorCount(engine, backend))
    const memory = Math.min(freeMemory(engine, { backend }), engine.describe().freeMemory)
    const { tests, streams } = makeTestSources(data, planTestSources(data, shares, memory), shares.length, scope)
    const feed = await startFeed(data, streams, scope, { seed: 0, skipped: () => {} })
    const replicas = copiesOf(evaluated, statistics, shares.length, scope)
    const counts = { answers: answersPerSample(model, data), positions: positionsOf(data) }
    const evaluators = await Evaluators.start({ feed, replicas, tests, shares, ...counts, metrics }, scope)
    const { samples, testLoss, testAccuracy, testMetrics = {} } = await Promise.race([evaluators.measure(), feed.failed])
    return { samples, testLoss, testAccuracy, testMetrics, seconds: (performance.now() - start) / 1000 }
  } finally {
    await scope.close()
  }
}

/** Replicas that hold the model's weights and statistics. */
function copiesOf(
  { engine, replica, program, moved }: EvaluatedModel,
  statistics: FloatTensors,
  count: number,
  { handles }: JobScope
): Handle[] {
  const { backend, parameters: layout } = program
  const weights = engine.readVector(replica, 'weights')
  const predict = handles.own(engine.createProgram(program))
  return Array.from({ length: count }, () => {
    const copy = handles.own(
      engine.createReplica({ backend, layout, threads: 1, seed: 0, ...(moved !== undefined && { moved: { vectors: moved, all: true } }) })
    )
    engine.writeVector(copy, 'weights', weights)
    const slot = engine.bind(copy, predict)
    for (const [name, { data }] of Object.entries(statistics)) engine.writeValue(copy, slot, name, data)
    return copy
  })
}
