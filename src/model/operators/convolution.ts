import { NONE, type ValueId } from '../graph.js'
import type { Initialised } from '../initialisers.js'
import { pairOf, windowsOf, type Window } from '../layer-checks.js'
import type { LayerOptions, Named, Pair } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
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
  }
}

/** A 2-D convolution of (C, H, W). */
export interface Conv2dLayer extends Named, Initialised {
  readonly kind: 'conv2d'
  readonly filters: number
  readonly kernel: Pair
  readonly stride?: Pair
  readonly padding?: Pair
  /** Pixels from one weight's to the next's; 1 if left out. */
  readonly dilation?: Pair
  readonly groups?: number
  readonly bias?: boolean
}

/**
 * A 2-D convolution over (C, H, W); square kernels and strides may be given as one number. With a `dilation` of d the kernel takes every d-th pixel along
 * both axes (Yu and Koltun, ICLR 2016).
 */
export function conv2d(filters: number, kernel: Pair, options: LayerOptions<Conv2dLayer, 'filters' | 'kernel'> = {}): Conv2dLayer {
  return { kind: 'conv2d', filters, kernel, ...optionsOf('conv2d', options) }
}

defineLayers({
  conv2d: {
    stem: 'conv',
    properties: {
      filters: true,
      kernel: true,
      stride: true,
      padding: true,
      dilation: true,
      groups: true,
      bias: true,
      initialiser: true,
      biasInitialiser: true
    },
    build(layer, to, x) {
      const [batch, channels, ...extent] = to.image(x, 'put it before flatten and pooling to (C)')
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
      const extents = windowsOf(to.name, [channels, ...extent], window)
      const weights = weightAndBias(layer, to, [filters, channels / groups, ...window.kernel])
      return to.result(
        'conv2d',
        x,
        [batch, filters, ...extents],
        {
          stride: window.stride,
          padding: window.padding,
          // Left out where it is 1: our own kernels refuse an operator that has it.
          ...(Math.max(...window.dilation) > 1 && { dilation: window.dilation }),
          groups,
          relu: 0
        },
        weights
      )
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
