import fc from 'fast-check'
import { exportOnnx } from '../../../src/formats/onnx/export.js'
import { decodeModel } from '../../formats/support/decode-onnx.js'
import { defineModel } from '../../../src/model/layers.js'
import { distance, runOnnx } from '../../formats/support/onnxruntime.js'
import { randomSamples, randomTrainedModel } from '../../formats/support/random-weights.js'
import type { Target } from '../support/target.js'
import { randomLayers } from './random-layers.js'

/** Sums of some hundred numbers, one behind the other in other orders. */
const TOLERANCE = 1e-4

/**
 * Models of any layers with any numbers, exported: ONNX Runtime reads the file, and gives what the engine gives. What does not fit together is
 * refused before.
 */
export function onnxTarget(): Target {
  return async (choice) => {
    const input = choice.among([[3, 7, 6], [4, 5, 5], [1, 8, 8], [12], [6, 5]])
    const [layers] = fc.sample(randomLayers, { seed: choice.below(2 ** 31), numRuns: 1 })
    const model = defineModel({ name: 'any', input, layers: layers! })
    const normalisation = choice.happens(0.3) ? { mean: [0.4], std: [0.3] } : { mean: [], std: [] }
    const trained = randomTrainedModel(model, { backend: 'reference', normalisation, seed: 1 + choice.below(1000) })
    const bytes = exportOnnx(model, { ...trained.weights(), ...trained.statistics() }, { normalisation })
    const { graph } = decodeModel(bytes)
    if (graph.node.length === 0) throw new Error('a file without a node')
    const count = 1 + choice.below(3)
    const samples = randomSamples(model, count)
    const wanted = trained.predict(samples)
    const { data } = await runOnnx(bytes, samples, [count, ...input])
    const apart = distance(data, wanted)
    const silent = wanted.every((value) => value === 0) && data.every((value) => value === 0)
    if (!(apart < TOLERANCE) && !silent) throw new Error(`outputs differ by ${apart} of the largest: ${JSON.stringify(model.layers)}`)
  }
}
