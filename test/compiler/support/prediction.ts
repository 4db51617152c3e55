import { compileGraph } from '../../../src/compiler/compile.js'
import type { EngineBackend } from '../../../src/compiler/program.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { engine } from '../../../src/engine/native.js'
import { buildGraph } from '../../../src/model/graph-builder.js'
import { elements } from '../../../src/model/graph.js'
import type { Model } from '../../../src/model/model.js'
import { numbers, withEveryName } from './training-step.js'

interface PredictionOptions {
  readonly backend: EngineBackend
  readonly precision: 'f32' | 'f64'
  /** As that of a TrainingStep. */
  readonly apart?: boolean
}

/** What a model answers, with inputs, weights and running statistics from a seed, the same for every backend. */
export function prediction(
  model: Model,
  batch: number,
  seed: number,
  { backend, precision, apart = false }: PredictionOptions
): Float64Array {
  const graph = buildGraph(model, { batch, mode: 'predict' })
  const program = compileGraph(apart ? withEveryName(graph) : graph, loweringBackend(engine, backend), { mode: 'predict', precision })
  const { parameters: layout, named, values } = program
  const replica = engine.createReplica({ backend, layout, threads: 1, seed })
  const handle = engine.createProgram(program)
  const own = (data: Float64Array) => (precision === 'f64' ? data : Float32Array.from(data))
  try {
    const slot = engine.bind(replica, handle)
    engine.writeVector(replica, 'weights', own(numbers(layout.elements, seed)))
    const { shape, type } = values[named['input']!]!
    const input = numbers(elements(shape), seed + 1)
    // Two tokens are in every vocabulary.
    engine.writeValue(replica, slot, 'input', type === 'i32' ? Int32Array.from(input, (value) => (value > 0 ? 1 : 0)) : own(input))
    const statistics = values.filter(({ role }) => role === 'statistic').map(({ name }) => name)
    for (const [i, name] of statistics.entries()) {
      const drawn = numbers(elements(values[named[name]!]!.shape), seed + 2 + i)
      engine.writeValue(replica, slot, name, own(drawn.map((value) => (name.endsWith('Variance') ? 0.25 + Math.abs(value) : value))))
    }
    engine.runSegment(replica, slot, 'forward')
    return Float64Array.from(engine.readValue(replica, slot, 'output'))
  } finally {
    for (const each of [replica, handle]) engine.release(each)
  }
}
