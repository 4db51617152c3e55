import { elements, NONE, type NoAttributes, type ValueId } from '../graph.js'
import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
import type { LayerWriter } from './layer-writer.js'
import { one } from './onnx.js'
import { defineOperators, perElement, sizeOf, type Backpropagation } from './table.js'

/** Of batch norm and group norm. With `relu` y is at least 0, and at most `most` where that is given. */
export type NormAttributes = { readonly epsilon: number; readonly relu: number; readonly most?: number }

declare module '../graph.js' {
  interface Operators {
    /** x, gamma, beta, residual? -> y, mean, variance */
    batchNorm: NormAttributes
    /** x, gamma, beta, mean, variance, residual? -> y */
    batchNormInference: NormAttributes
    /** x, gamma, mean, variance, y?, gy, gy2? -> gx, ggamma, gbeta, gresidual?; gy2 is added to gy first, and gresidual is their masked sum */
    batchNormBackward: NormAttributes
    /**
     * mean, variance, count, foldedMean, foldedVariance -> count, foldedMean, foldedVariance: the last three inputs are written in place.
     * With n batches folded before: mean' = mean + (m - mean) / (n + 1), variance' = (n variance + v + (m - mean)^2 n / (n + 1)) / (n + 1): the
     * moments of all their samples, the variance biased.
     */
    foldStatistics: NoAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    batchNorm2d: BatchNorm2dLayer
  }
}

/** Each channel normalised by the mean and variance of the batch, then scaled and shifted. */
export interface BatchNorm2dLayer extends Named {
  readonly kind: 'batchNorm2d'
  /** 1e-5 if left out. */
  readonly epsilon?: number
  /** The scale's first value; 1 if left out. */
  readonly gamma?: number
}

/** Batch normalisation of every channel of (C, H, W) (Ioffe and Szegedy, ICML 2015); `epsilon` is 1e-5 and the first `gamma` 1 if left out. */
export function batchNorm2d(options: LayerOptions<BatchNorm2dLayer> = {}): BatchNorm2dLayer {
  return { kind: 'batchNorm2d', ...optionsOf('batchNorm2d', options) }
}

defineLayers({
  batchNorm2d: {
    stem: 'bn',
    properties: { epsilon: true, gamma: true },
    build(layer, to, x) {
      const shape = to.image(x, 'put it before flatten')
      const channels = shape[1]
      const epsilon = to.epsilon(layer.epsilon)
      const statistic = (suffix: string, extent: number): ValueId => to.value([extent], suffix, { role: 'statistic', type: 'statistic' })
      const affine = scaleAndShift(to, layer.gamma, channels)
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
      to.context.batchNorms.push({ name: to.name, moments, running })
      return y
    }
  }
})

defineOperators({
  batchNorm: {
    endsInRelu: true,
    endsInBoundedRelu: true,
    residualInput: 3,
    gradient: normGradient('batchNormBackward'),
    flops: ({ inputs: [x, , , residual] }) => 7 * sizeOf(x) + sizeOf(residual)
  },
  batchNormInference: {
    endsInRelu: true,
    endsInBoundedRelu: true,
    residualInput: 5,
    flops: ({ inputs: [x, , , , , residual] }) => 2 * sizeOf(x) + sizeOf(residual),
    onnx: (operator) =>
      one('BatchNormalization', { ...operator, inputs: operator.inputs.slice(0, 5) }, { epsilon: { float: operator.attributes.epsilon } })
  },
  batchNormBackward: { flops: ({ inputs: [x, , , , , , second] }) => 9 * sizeOf(x) + sizeOf(second) },
  foldStatistics: { flops: perElement(6) }
})

/** The parameters of batch norm and group norm, one number a channel each. */
export function scaleAndShift(to: LayerWriter, gamma: number | undefined, channels: number): ValueId[] {
  const first = to.number('gamma', gamma ?? 1, 'that a float holds', () => true)
  const parameter = (suffix: string, value: number): ValueId => to.parameter(suffix, [channels], { kind: 'constant', value })
  return [parameter('weight', first), parameter('bias', 0)]
}

/** The gradient of batch norm and group norm, with operands x, gamma, beta, residual? and outputs y and two saved statistics. */
export function normGradient<A extends NormAttributes>(
  kind: 'batchNormBackward' | 'groupNormBackward'
): (pass: Backpropagation<A>) => void {
  return (pass) => {
    const [x, gamma, , residual] = pass.inputs as [ValueId, ValueId, ValueId, ValueId]
    const [y, ...statistics] = pass.outputs as [ValueId, ValueId, ValueId]
    const { attributes } = pass
    const [first, second] = pass.gradientInTwo()
    const mask = attributes.relu ? y : NONE
    // Unmasked and alone, the gradient is the residual's as it is.
    const same = !attributes.relu && second === NONE
    if (residual !== NONE && pass.wants(3) && same) pass.passOn(3, first)
    const outgoing = [pass.contribution(0), pass.contribution(1), pass.contribution(2), same ? NONE : pass.optionalContribution(3)]
    pass.emit(kind, [x, gamma, ...statistics, mask, first, second], outgoing, attributes)
  }
}
