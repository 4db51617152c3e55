import { compile } from '../../../src/compiler/compile.js'
import type { EngineBackend } from '../../../src/compiler/program.js'
import { Random } from '../../../src/data/random.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { engine } from '../../../src/engine/native.js'
import type { Normalisation } from '../../../src/model/normalisation.js'
import { predictionGraph } from '../../../src/model/graph-builder.js'
import { elements } from '../../../src/model/graph.js'
import { initialParameters } from '../../../src/model/initialise.js'
import type { Model } from '../../../src/model/model.js'
import { TrainedModel } from '../../../src/trained/trained-model.js'

const ENGINE = new URL('../../../src/engine/native.js', import.meta.url)

export interface RandomModelOptions {
  readonly seed?: number
  readonly backend?: EngineBackend
  readonly normalisation?: Normalisation
}

/** A model as if it had been trained: no weight, bias or running statistic is as it was made. */
export function randomTrainedModel(model: Model, options: RandomModelOptions = {}): TrainedModel {
  const { seed = 1, backend = 'cpu', normalisation = { mean: [], std: [] } } = options
  const program = compile(model, loweringBackend(engine, backend), { batch: 4, mode: 'predict', precision: 'f32' })
  const replica = engine.createReplica({ backend, layout: program.parameters, threads: 1, seed })
  const random = new Random(seed)
  const weights = initialParameters(predictionGraph(model), seed)
  engine.writeVector(
    replica,
    'weights',
    weights.map((weight) => weight + random.between(-0.02, 0.02))
  )
  const handle = engine.createProgram(program)
  const slot = engine.bind(replica, handle)
  engine.release(handle)
  for (const { name, shape, role } of program.values) {
    if (role !== 'statistic') continue
    const [low, high] = name.endsWith('.runningVariance') ? [0.5, 2] : [-0.5, 0.5]
    engine.writeValue(
      replica,
      slot,
      name,
      Float32Array.from({ length: elements(shape) }, () => random.between(low, high))
    )
  }
  return new TrainedModel({ engine, module: ENGINE, model, replica, program, normalisation })
}

export function randomSamples(model: Model, count: number, seed = 2): Float32Array {
  const random = new Random(seed)
  return Float32Array.from({ length: count * elements(model.input) }, () => random.between(0, 1))
}

/** Token ids of a model of tokens. */
export function randomTokens(model: Model, tokens: number, count: number, seed = 2): Int32Array {
  const random = new Random(seed)
  return Int32Array.from({ length: count * elements(model.input) }, () => Math.floor(random.between(0, tokens)))
}
