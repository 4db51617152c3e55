import { elements, NONE, type ValueId } from '../graph.js'
import type { BatchNorm2dLayer, LayerNormLayer, LocalResponseNormLayer } from '../model.js'
import type { LayerWriter } from './layer-writer.js'

/** A batch norm's statistics: of the batch (mean, variance), and running (count, mean, variance). */
export interface BatchStatistics {
  readonly name: string
  readonly moments: readonly ValueId[]
  readonly running: readonly ValueId[]
}

/** What it measures of the batch joins `measured`. */
export function batchNorm(layer: BatchNorm2dLayer, to: LayerWriter, x: ValueId, measured: BatchStatistics[]): ValueId {
  const shape = to.image(x, 'put it before flatten')
  const channels = shape[1]
  const epsilon = checkedEpsilon(to, layer.epsilon)
  const gamma = to.number('gamma', layer.gamma ?? 1, 'that a float holds', () => true)
  const parameter = (suffix: string, value: number): ValueId => to.parameter(suffix, [channels], { kind: 'constant', value })
  const statistic = (suffix: string, extent: number): ValueId => to.value([extent], suffix, { role: 'statistic', type: 'statistic' })
  const affine = [parameter('weight', gamma), parameter('bias', 0)]
  const running = [statistic('count', 1), statistic('runningMean', channels), statistic('runningVariance', channels)]
  const y = to.value(shape)
  const attributes = { epsilon, relu: 0 }
  if (!to.learns) {
    to.operator('batchNormInference', [x, ...affine, ...running.slice(1), NONE], [y], { attributes })
    return y
  }
  if (elements(shape) === channels) throw to.mismatch(x, 'one value a channel has no variance: use a batch of at least 2')
  const moments = ['mean', 'variance'].map((suffix) => to.value([channels], suffix, { type: 'statistic' }))
  to.operator('batchNorm', [x, ...affine, NONE], [y, ...moments], { attributes })
  measured.push({ name: to.name, moments, running })
  return y
}

export function layerNorm(layer: LayerNormLayer, to: LayerWriter, x: ValueId): ValueId {
  const shape = to.rows(x)
  const epsilon = checkedEpsilon(to, layer.epsilon)
  const affine = [1, 0].map((value, i) => to.parameter(i ? 'bias' : 'weight', shape.slice(-1), { kind: 'constant', value }))
  return to.simple('layerNorm', x, shape, { epsilon }, affine)
}

export function localResponseNorm(layer: LocalResponseNormLayer, to: LayerWriter, x: ValueId): ValueId {
  const shape = to.image(x, 'put it before flatten')
  const size = to.wholeNumber('size', layer.size, 1)
  if (size > 2 ** 20) throw to.invalid('size', size, 'use a window of channels')
  const atLeast = (parameter: 'alpha' | 'beta' | 'k', otherwise: number, least: number) =>
    to.number(parameter, layer[parameter] ?? otherwise, `from ${least} to less than 2^31`, (value) => value >= least && value < 2 ** 31)
  const [alpha, beta, k] = [atLeast('alpha', 1e-4, 0), atLeast('beta', 0.75, 0), atLeast('k', 1, 1e-6)]
  return to.simple('localResponseNorm', x, shape, { size, alpha, beta, k })
}

function checkedEpsilon(to: LayerWriter, epsilon = 1e-5): number {
  return to.number('epsilon', epsilon, 'above 0', (value) => value > 0)
}
