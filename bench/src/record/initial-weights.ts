import type { Dataset, Model } from '../arbalest.js'
import { invalidOption } from '../errors.js'
import { initialParameters, parametersOf, predictionGraph, elements, writeSafetensors } from '../internals.js'
import { whiteningFilters } from './whitening.js'

/** Images whose patches the whitening filters are made of. */
const WHITENED = 5000

export type Tensors = Record<string, { readonly shape: readonly number[]; readonly data: Float32Array }>

/**
 * The initial weights of a seed: those that `train` would draw, but for Dirac initialisation of each 3 x 3 convolution, and for the filters of `whiten`, which
 * whiten the training images.
 */
export function initialWeights(model: Model, data: Dataset, seed: number): Tensors {
  const { train, mean, std } = data
  if (!('samples' in train) || !(train.samples instanceof Uint8Array))
    throw invalidOption('data', data.name, 'use images of bytes that lie in memory')
  const graph = predictionGraph(model)
  const drawn = initialParameters(graph, seed)
  const tensors: Tensors = {}
  let from = 0
  for (const { name, shape } of parametersOf(graph)) {
    const values = drawn.subarray(from, (from += elements(shape)))
    if (name === 'whiten.weight') {
      const count = Math.min(WHITENED, train.count)
      values.set(whiteningFilters({ samples: train.samples, sample: train.sample }, { mean, std, kernel: shape[2]!, count }))
    } else if (shape.length === 4) dirac(values, shape)
    tensors[name] = { shape, data: values }
  }
  // Nothing has been measured yet.
  for (const { name, shape, role } of graph.values)
    if (role === 'statistic' && !name.endsWith('.count'))
      tensors[name] = { shape, data: new Float32Array(elements(shape)).fill(name.endsWith('.runningVariance') ? 1 : 0) }
  return tensors
}

/** Each filter i of the first C passes channel i through: 1 at the middle of that channel, else 0. The other filters stay as they are. */
function dirac(values: Float32Array, [filters = 0, channels = 0, height = 0, width = 0]: readonly number[]): void {
  const area = height * width
  const first = Math.min(filters, channels)
  values.fill(0, 0, first * channels * area)
  for (let i = 0; i < first; i++) values[(i * channels + i) * area + Math.floor(height / 2) * width + Math.floor(width / 2)] = 1
}

export async function writeInitialWeights(file: string, model: Model, data: Dataset, seed: number): Promise<void> {
  await writeSafetensors(file, Object.entries(initialWeights(model, data, seed)))
}
