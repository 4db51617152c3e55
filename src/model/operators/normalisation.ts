import { ArbalestError } from '../../errors.js'
import { NONE, type NoAttributes, type ValueId } from '../graph.js'
import type { LayerOptions, Named } from '../layer.js'
import { normGradient, scaleAndShift, type NormAttributes } from './batch-norm.js'
import { defineLayers, optionsOf } from './layer-table.js'
import { node, one, type OnnxNode, type OnnxNodes, type OnnxOperator } from './onnx.js'
import { backwardBy, defineComposable, defineOperators, perElement, sizeOf } from './table.js'

/** Normalisation of a sample by itself: of each row or group of channels by its mean and variance, of each pixel by its channels around. */

type GroupNormAttributes = NormAttributes & { readonly groups: number }
type ResponseAttributes = { readonly size: number; readonly alpha: number; readonly beta: number; readonly k: number }

declare module '../graph.js' {
  interface ComposableOperators {
    /** x (...,F), gamma (F), beta (F) -> y, mean (...)?, inverse (...)?: of each row, and 1 / its std */
    layerNorm: { readonly epsilon: number }
    /** x (N,C,H,W), gamma (C), beta (C), residual? -> y, mean (N,groups)?, inverse (N,groups)?: of each group, and 1 / its std */
    groupNorm: GroupNormAttributes
    /** x (N,C,H,W) -> y = x / (k + alpha / size * sum of x^2 over channels c - size/2 to c + (size-1)/2)^beta */
    localResponseNorm: ResponseAttributes
    /** x, gy -> gx */
    localResponseNormBackward: ResponseAttributes
  }
  interface Operators {
    /** x, gamma, mean, inverse, gy -> gx?, ggamma, gbeta */
    layerNormBackward: NoAttributes
    /** x, gamma, mean, inverse, y?, gy, gy2? -> gx?, ggamma, gbeta, gresidual?; gy2 is added to gy first, and gresidual is their masked sum */
    groupNormBackward: GroupNormAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    layerNorm: LayerNormLayer
    layerNorm2d: LayerNorm2dLayer
    groupNorm: GroupNormLayer
    localResponseNorm: LocalResponseNormLayer
  }
}

/** Each position normalised by its own mean and variance, then scaled and shifted. */
export interface LayerNormLayer extends Named {
  readonly kind: 'layerNorm'
  /** 1e-5 if left out. */
  readonly epsilon?: number
}

/** The channels of each pixel normalised by their own mean and variance, then scaled and shifted. */
export interface LayerNorm2dLayer extends Named {
  readonly kind: 'layerNorm2d'
  /** 1e-5 if left out. */
  readonly epsilon?: number
}

/** Each group of a sample's channels normalised by its own mean and variance; then each channel scaled and shifted. */
export interface GroupNormLayer extends Named {
  readonly kind: 'groupNorm'
  /** A divisor of the channels. */
  readonly groups: number
  /** 1e-5 if left out. */
  readonly epsilon?: number
  /** The scale's first value; 1 if left out. */
  readonly gamma?: number
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

/** Normalises the channels of each pixel of (C, H, W), as ConvNeXt does; `epsilon` is 1e-5 if left out. `groupNorm(1)` normalises the whole image. */
export function layerNorm2d(options: LayerOptions<LayerNorm2dLayer> = {}): LayerNorm2dLayer {
  return { kind: 'layerNorm2d', ...optionsOf('layerNorm2d', options) }
}

/**
 * Group normalisation of (C, H, W) (Wu and He, ECCV 2018): neighbouring channels in `groups` groups, each with the mean and variance of one sample. It
 * does not depend on the batch, which may have one sample. `groups` is a divisor of C: 1 normalises the whole sample, C each channel by itself.
 * `epsilon` is 1e-5 and the first `gamma` 1 if left out.
 */
export function groupNorm(groups: number, options: LayerOptions<GroupNormLayer, 'groups'> = {}): GroupNormLayer {
  return { kind: 'groupNorm', groups, ...optionsOf('groupNorm', options) }
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
      return to.result('layerNorm', x, shape, { epsilon }, scaleAndShift(to, 1, shape.at(-1)!))
    }
  },
  layerNorm2d: {
    stem: 'norm',
    properties: { epsilon: true },
    build(layer, to, x) {
      const [batch, channels, height, width] = to.image(x, 'use layerNorm for features and sequences')
      const sequence = [batch, height * width, channels]
      const positions = to.value(sequence, 'positions')
      to.operator('imagePositions', [x], [positions], { suffix: 'positions' })
      const normalised = to.result('layerNorm', positions, sequence, { epsilon: to.epsilon(layer.epsilon) }, scaleAndShift(to, 1, channels))
      const image = to.value(to.shape(x), 'image')
      to.operator('imagePositionsBackward', [normalised], [image], { suffix: 'image' })
      return image
    }
  },
  groupNorm: {
    stem: 'gn',
    properties: { groups: true, epsilon: true, gamma: true },
    build(layer, to, x) {
      const shape = to.image(x, 'put it before flatten')
      const [, channels, height, width] = shape
      const groups = to.wholeNumber('groups', layer.groups, 1)
      if (channels % groups) throw to.invalid('groups', groups, `use a divisor of its ${channels} channels`)
      if (channels * height * width === groups) throw to.mismatch(x, 'one value a group has no variance: use fewer groups')
      const epsilon = to.epsilon(layer.epsilon)
      return to.result('groupNorm', x, shape, { groups, epsilon, relu: 0 }, [...scaleAndShift(to, layer.gamma, channels), NONE])
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
  groupNorm: {
    endsInRelu: true,
    endsInBoundedRelu: true,
    residualInput: 3,
    saved: ([batch], { groups }) => ['mean', 'inverse'].map((suffix) => ({ suffix, shape: [batch!, groups], type: 'statistic' })),
    gradient: normGradient('groupNormBackward'),
    flops: ({ inputs: [x, , , residual] }) => 7 * sizeOf(x) + sizeOf(residual),
    onnx: instanceNormOfGroups
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

defineOperators({
  layerNormBackward: { flops: perElement(9) },
  groupNormBackward: { flops: ({ inputs: [x, , , , , , second] }) => 9 * sizeOf(x) + sizeOf(second) }
})

/** What is left of a response norm that does not depend on the channels around: ONNX Runtime refuses an LRN whose alpha or beta is 0. */
function timesFactor({ name, inputs: [x], output }: OnnxOperator<unknown>, factor: number): OnnxNodes {
  const constant = `${output} factor`
  return { nodes: [node('Mul', name, [x!, constant], output)], scalars: { [constant]: factor } }
}

/** Set 17 has no norm of groups: each group becomes a channel of an instance norm, whose scale and shift do nothing. */
function instanceNormOfGroups({ name, inputs, output, result, attributes }: OnnxOperator<GroupNormAttributes>): OnnxNodes {
  const [x, weight, bias] = inputs as [string, string, string]
  const { groups, epsilon } = attributes
  const part = (suffix: string): string => `${output} ${suffix}`
  const reshape = (suffix: string, value: string, shape: string): OnnxNode =>
    node('Reshape', `${name} ${suffix}`, [value, part(shape)], part(suffix))
  const filled = (value: number) => ({ shape: [groups], data: new Float32Array(groups).fill(value) })
  return {
    nodes: [
      reshape('groups', x, 'shape of groups'),
      node('InstanceNormalization', `${name} normalise`, ['groups', 'ones', 'zeros'].map(part), part('normalised groups'), {
        epsilon: { float: epsilon }
      }),
      reshape('normalised', part('normalised groups'), 'shape of images'),
      reshape('scale', weight, 'shape of channels'),
      reshape('shift', bias, 'shape of channels'),
      node('Mul', `${name} multiply`, ['normalised', 'scale'].map(part), part('scaled')),
      node('Add', name, ['scaled', 'shift'].map(part), output)
    ],
    constants: {
      // 0 stands for the batch, as it is.
      [part('shape of groups')]: [0, groups, -1],
      [part('shape of images')]: [0, ...result.slice(1)],
      [part('shape of channels')]: [result[1]!, 1, 1]
    },
    tables: { [part('ones')]: filled(1), [part('zeros')]: filled(0) }
  }
}
