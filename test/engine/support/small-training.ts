import { compile } from '../../../src/compiler/compile.js'
import type { OptimiserAttributes } from '../../../src/compiler/optimiser.js'
import type { EngineBackend, Program } from '../../../src/compiler/program.js'
import type { Handle } from '../../../src/engine/contract.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { engine } from '../../../src/engine/native.js'
import { buildGraph } from '../../../src/model/graph-builder.js'
import { initialParameters } from '../../../src/model/initialise.js'
import { defineModel, linear, relu } from '../../../src/model/layers.js'
import type { Model } from '../../../src/model/model.js'

const INPUTS = 12
const CLASSES = 5

export const SMALL_MODEL = defineModel({ name: 'small', input: [INPUTS], layers: [linear(16), relu(), linear(CLASSES)] })

/** A training step on random vectors, and the first weights. */
export function smallTraining(
  backend: EngineBackend,
  optimiser: OptimiserAttributes,
  { batch = 4, model = SMALL_MODEL }: { batch?: number; model?: Model } = {}
): { program: Program; initial: Float32Array } {
  const load = { padding: 0, flip: false, mean: [], std: [], shuffled: true }
  const program = compile(model, loweringBackend(engine, backend), { batch, mode: 'train', precision: 'f32', load, optimiser })
  return { program, initial: initialParameters(buildGraph(model, { batch, mode: 'train', load }), 7) }
}

export function randomSamples(count: number, inputs = INPUTS): Handle {
  let state = 12345
  const next = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32
  const samples = Float32Array.from({ length: count * inputs }, () => next() * 2 - 1)
  const labels = Int32Array.from({ length: count }, () => Math.floor(next() * CLASSES))
  return engine.createDataset({ count, sample: [inputs], samples, labels, classes: CLASSES })
}

export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let largest = 0
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i]! - b[i]!))
  return largest
}
