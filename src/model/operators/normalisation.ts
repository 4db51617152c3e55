import { ArbalestError } from '../../errors.js'
import type { NoAttributes, ValueId } from '../graph.js'
import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
import { node, one, type OnnxNodes, type OnnxOperator } from './onnx.js'
import { backwardBy, defineComposable, defineOperators, perElement, sizeOf } from './table.js'

/** Normalisation of a sample by itself: of each row by its mean and variance, of each pixel by its channels around. */

type ResponseAttributes = { readonly size: number; readonly alpha: number; readonly beta: number; readonly k: number }

declare module '../graph.js' {
  interface ComposableOperators {
    /** x (...,F), gamma (F), beta (F) -> y, mean (...)?, inverse (...)?: of each row, and 1 / its std */
    layerNorm: { readonly epsilon: number }
    /** x (N,C,H,W) -> y = x / (k + alpha / size * sum of x^2 over channels c - size/2 to c + (size-1)/2)^beta */
    localResponseNorm: ResponseAttributes
    /** x, gy -> gx */
    localResponseNormBackward: ResponseAttributes
  }
  interface Operators {
    /** x, gamma, mean, inverse, gy -> gx?, ggamma, gbeta */
    layerNormBackward: NoAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    layerNorm: LayerNormLayer
    localResponseNorm: LocalResponseNormLayer
  }
}

/** Each position normalised by its own mean and variance, then scaled and shifted. */
export interface LayerNormLayer extends Named {
  readonly kind: 'layerNorm'
  /** 1e-5 if left out. */
  readonly epsilon?: number
}

/** x / (k + alpha / size * (sum of x^2 over the `size` channels around))^beta, with PyTorch's defaults: 1e-4, 0.75 and 1. */
export interface LocalResponseNormLayer extends Named {
  readonly kind: 'localResponseNorm'
  readonly size: number
  readonly alpha?: number
  readonly beta?: number
  readonly k?: number
}

/** Normalises each row of (F) or (T, F) (Ba, Kiros and Hinton, 2016); `epsilon` is 1e-5 if left out. */
export function layerNorm(options: LayerOptions<LayerNormLayer> = {}): LayerNormLayer {
  return { kind: 'layerNorm', ...optionsOf('layerNorm', options) }
}

/**
 * x / (k + alpha / size * (sum of x^2 over the `size` channels around))^beta, over (C, H, W): AlexNet's (Krizhevsky et al., NeurIPS 2012) as PyTorch
 * defines it, with its defaults alpha 1e-4, beta 0.75 and k 1.
 */
export function localResponseNorm(size: number, options: LayerOptions<LocalResponseNormLayer, 'size'> = {}): LocalResponseNormLayer {
  return { kind: 'localResponseNorm', size, ...optionsOf('localResponseNorm', options) }
}

defineLayers({
  layerNorm: {
    stem: 'norm',
    properties: { epsilon: true },
    build(layer, to, x) {
      const shape = to.rows(x)
      const epsilon = to.epsilon(layer.epsilon)
      const affine = [1, 0].map((value, i) => to.parameter(i ? 'bias' : 'weight', shape.slice(-1), { kind: 'constant', value }))
      return to.result('layerNorm', x, shape, { epsilon }, affine)
    }
  },
  localResponseNorm: {
    stem: 'lrn',
    properties: { size: true, alpha: true, beta: true, k: true },
    build(layer, to, x) {
      const shape = to.image(x, 'put it before flatten')
      const size = to.wholeNumber('size', layer.size, 1)
      if (size > 2 ** 20) throw to.invalid('size', size, 'use a window of channels')
      const atLeast = (parameter: 'alpha' | 'beta' | 'k', otherwise: number, least: number) =>
        to.number(parameter, layer[parameter] ?? otherwise, `from ${least} to less than 2^31`, (value) => value >= least && value < 2 ** 31)
      const [alpha, beta, k] = [atLeast('alpha', 1e-4, 0), atLeast('beta', 0.75, 0), atLeast('k', 1, 1e-6)]
      return to.result('localResponseNorm', x, shape, { size, alpha, beta, k })
    }
  }
})

defineComposable({
  layerNorm: {
    saved: (y) => ['mean', 'inverse'].map((suffix) => ({ suffix, shape: y.slice(0, -1), type: 'statistic' })),
    gradient(pass) {
      const [x, gamma] = pass.inputs as [ValueId, ValueId]
      const [, mean, inverse] = pass.outputs as [ValueId, ValueId, ValueId]
      const incoming = [x, gamma, mean, inverse, pass.gradient()]
      pass.emit('layerNormBackward', incoming, [pass.optionalContribution(0), pass.contribution(1), pass.contribution(2)])
    },
    flops: perElement(7),
    onnx: (operator) => one('LayerNormalization', operator, { axis: -1, epsilon: { float: operator.attributes.epsilon } })
  },
  localResponseNorm: {
    gradient: backwardBy('localResponseNormBackward', ({ inputs: [x] }) => [x!]),
    flops: ({ inputs: [x], attributes: { size } }) => (2 * size + 4) * sizeOf(x),
    onnx(operator) {
      const { size, alpha, beta, k } = operator.attributes
      if (alpha === 0 || beta === 0) return timesFactor(operator, k ** -beta)
      if (size % 2 === 1) return one('LRN', operator, { size, alpha: { float: alpha }, beta: { float: beta }, bias: { float: k } })
      // ONNX has the longer half of an even window behind the channel, and PyTorch before it.
      throw new ArbalestError(
        'UNSUPPORTED_OPERATOR',
        `layer ${operator.name}: size: received ${size}; ONNX has local response normalisation of odd sizes only: use ${size + 1}`
      )
    }
  },
  localResponseNormBackward: { flops: ({ inputs: [x], attributes: { size } }) => (4 * size + 8) * sizeOf(x) }
})

defineOperators({ layerNormBackward: { flops: perElement(9) } })

/** What is left of a response norm that does not depend on the channels around: ONNX Runtime refuses an LRN whose alpha or beta is 0. */
function timesFactor({ name, inputs: [x], output }: OnnxOperator<unknown>, factor: number): OnnxNodes {
  const constant = `${output} factor`
  return { nodes: [node('Mul', name, [x!, constant], output)], scalars: { [constant]: factor } }
}
