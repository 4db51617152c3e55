import { NONE, type ValueId } from '../graph.js'
import type { Initialised } from '../initialisers.js'
import { pairOf, windowsOf, type Window } from '../layer-checks.js'
import type { LayerOptions, Named, Pair } from '../layer.js'
import { withBias } from './channel-affine.js'
import { defineLayers, optionsOf } from './layer-table.js'
import type { LayerWriter } from './layer-writer.js'
import { one } from './onnx.js'
import { defineComposable } from './table.js'
import { affineFlops, affineGradient, weightAndBias } from './weights.js'

type ConvolutionAttributes = {
  readonly stride: readonly number[]
  readonly padding: readonly number[]
  /** Pixels from one weight's to the next's; 1 if left out. */
  readonly dilation?: readonly number[]
  readonly groups: number
  readonly relu: number
}

declare module '../graph.js' {
  interface ComposableOperators {
    /** x (N,C,H,W), w (O,C/groups,KH,KW), b (O)? -> y */
    conv2d: ConvolutionAttributes
    /** gy, w -> gx */
    conv2dBackwardData: ConvolutionAttributes
    /** x, gy -> gw, gb? */
    conv2dBackwardWeights: ConvolutionAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    conv2d: Conv2dLayer
    convTranspose2d: ConvTranspose2dLayer
  }
}

interface Convolution extends Named, Initialised {
  readonly filters: number
  readonly kernel: Pair
  /** 1 if left out. */
  readonly stride?: Pair
  /** Pixels at each edge; 0 if left out. */
  readonly padding?: Pair
  /** Pixels from one weight's to the next's; 1 if left out. */
  readonly dilation?: Pair
  readonly groups?: number
  readonly bias?: boolean
}

/** A 2-D convolution of (C, H, W). */
export interface Conv2dLayer extends Convolution {
  readonly kind: 'conv2d'
}

/** A transposed 2-D convolution of (C, H, W): `stride` makes the image larger, and `padding` cuts pixels off. */
export interface ConvTranspose2dLayer extends Convolution {
  readonly kind: 'convTranspose2d'
  /** Pixels that are added at the lower and right edge; less than the stride, 0 if left out. */
  readonly outputPadding?: Pair
}

/**
 * A 2-D convolution over (C, H, W); square kernels and strides may be given as one number. With a `dilation` of d the kernel takes every d-th pixel along
 * both axes (Yu and Koltun, ICLR 2016).
 */
export function conv2d(filters: number, kernel: Pair, options: LayerOptions<Conv2dLayer, 'filters' | 'kernel'> = {}): Conv2dLayer {
  return { kind: 'conv2d', filters, kernel, ...optionsOf('conv2d', options) }
}

/**
 * What a 2-D convolution does backwards: (C, H, W) to (filters, H', W'), where H' is (H - 1) * stride - 2 * padding + dilation * (kernel - 1) + outputPadding + 1, as PyTorch's
 * `ConvTranspose2d` has it. `convTranspose2d(32, 2, { stride: 2 })` makes an image of twice the height and width.
 */
export function convTranspose2d(
  filters: number,
  kernel: Pair,
  options: LayerOptions<ConvTranspose2dLayer, 'filters' | 'kernel'> = {}
): ConvTranspose2dLayer {
  return { kind: 'convTranspose2d', filters, kernel, ...optionsOf('convTranspose2d', options) }
}

const properties = {
  filters: true,
  kernel: true,
  stride: true,
  padding: true,
  dilation: true,
  groups: true,
  bias: true,
  initialiser: true,
  biasInitialiser: true
} as const

/** The checked numbers of a layer for input x, and the attributes of its operator. */
function read(layer: Convolution, to: LayerWriter, x: ValueId) {
  const [batch, channels, ...extents] = to.image(x, 'put it before flatten and pooling to (C)')
  const filters = to.wholeNumber('filters', layer.filters, 1)
  const groups = to.wholeNumber('groups', layer.groups ?? 1, 1)
  if (filters % groups) throw to.invalid('groups', groups, `use a divisor of its ${filters} filters`)
  if (channels % groups) throw to.mismatch(x, `its ${groups} groups must divide the channels: change groups`)
  const window: Required<Window> = {
    kernel: pairOf(to.name, 'kernel', layer.kernel, 1),
    stride: pairOf(to.name, 'stride', layer.stride ?? 1, 1),
    padding: pairOf(to.name, 'padding', layer.padding ?? 0, 0),
    dilation: pairOf(to.name, 'dilation', layer.dilation ?? 1, 1)
  }
  const { stride, padding, dilation } = window
  // Dilation is left out where it is 1: our own kernels refuse an operator that has it.
  const attributes: ConvolutionAttributes = { stride, padding, ...(Math.max(...dilation) > 1 && { dilation }), groups, relu: 0 }
  return { batch, channels, extents, filters, groups, window, attributes }
}

defineLayers({
  conv2d: {
    stem: 'conv',
    properties,
    build(layer, to, x) {
      const { batch, channels, extents, filters, groups, window, attributes } = read(layer, to, x)
      const smaller = windowsOf(to.name, [channels, ...extents], window)
      const weights = weightAndBias(layer, to, [filters, channels / groups, ...window.kernel])
      return to.result('conv2d', x, [batch, filters, ...smaller], attributes, weights)
    }
  },
  convTranspose2d: {
    stem: 'convTranspose',
    properties: { ...properties, outputPadding: true },
    build(layer, to, x) {
      const { batch, channels, extents, filters, groups, window, attributes } = read(layer, to, x)
      const { kernel, stride, padding, dilation } = window
      const added = pairOf(to.name, 'outputPadding', layer.outputPadding ?? 0, 0)
      // Else the convolution that it is the gradient of would give another image than x.
      if (added[0] >= stride[0] || added[1] >= stride[1]) throw to.invalid('outputPadding', layer.outputPadding, 'use less than the stride')
      const larger = ([0, 1] as const).map(
        (axis) => (extents[axis] - 1) * stride[axis] - 2 * padding[axis] + dilation[axis] * (kernel[axis] - 1) + added[axis] + 1
      )
      if (larger.some((extent) => extent < 1)) throw to.mismatch(x, 'its padding cuts the whole image off: use less padding')
      const [weight, bias] = weightAndBias(layer, to, [channels, filters / groups, ...kernel], filters)
      const y = to.result('conv2dBackwardData', x, [batch, filters, ...larger], attributes, [weight])
      return bias === NONE ? y : withBias(to, y, bias)
    }
  }
})

defineComposable({
  conv2d: {
    endsInRelu: true,
    gradient: affineGradient('conv2dBackwardWeights', 'conv2dBackwardData'),
    flops: affineFlops.forward,
    // ONNX gives the padding before every axis, then after.
    onnx: (operator) => {
      const { stride, padding, dilation, groups } = operator.attributes
      return one('Conv', operator, {
        strides: stride,
        pads: [...padding, ...padding],
        ...(dilation && { dilations: dilation }),
        group: groups
      })
    }
  },
  // Forwards it is a transposed convolution.
  conv2dBackwardData: {
    gradient(pass) {
      const [x, w] = pass.inputs as [ValueId, ValueId]
      const gradient = pass.gradient()
      if (pass.wants(1)) pass.emit('conv2dBackwardWeights', [gradient, x], [pass.contribution(1), NONE], pass.attributes)
      if (pass.wants(0)) pass.emit('conv2d', [gradient, w], [pass.contribution(0)], pass.attributes)
    },
    flops: affineFlops.backwardData,
    onnx: (operator) => {
      const { stride, padding, dilation, groups } = operator.attributes
      const [x, w] = operator.shapes as [readonly number[], readonly number[]]
      // What a convolution of the result would leave out at its lower and right edge.
      const rest = [0, 1].map((axis) => {
        const covered = (x[axis + 2]! - 1) * stride[axis]! + (dilation?.[axis] ?? 1) * (w[axis + 2]! - 1) + 1
        return operator.result[axis + 2]! + 2 * padding[axis]! - covered
      })
      return one('ConvTranspose', operator, {
        strides: stride,
        pads: [...padding, ...padding],
        ...(dilation && { dilations: dilation }),
        ...(rest.some((pixels) => pixels > 0) && { output_padding: rest }),
        group: groups
      })
    }
  },
  conv2dBackwardWeights: { flops: affineFlops.backwardWeights }
})
