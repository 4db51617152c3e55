import { NONE, type NoAttributes, type ValueId } from '../graph.js'
import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
import type { LayerWriter } from './layer-writer.js'
import { node, type OnnxNode, type OnnxNodes, type OnnxOperator } from './onnx.js'
import { defineComposable, sizeOf, type Backpropagation } from './table.js'

/** Numbers of each channel, by which images are multiplied and which are added to them. */

declare module '../graph.js' {
  interface ComposableOperators {
    /** x (N,C,H,W), scale (C)?, shift (C)? -> y = x * scale + shift: each channel by its own numbers, which may also be (C,1,1) */
    channelAffine: NoAttributes
    /** x?, scale?, gy -> gx?, gscale?, gshift? */
    channelAffineBackward: NoAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    layerScale: LayerScaleLayer
  }
}

/** A trained factor for each channel of (C, H, W). */
export interface LayerScaleLayer extends Named {
  readonly kind: 'layerScale'
  /** What each factor is at first; 1e-6 if left out. */
  readonly initial?: number
  /**
   * The full name of its parameter, which is of shape (C, 1, 1) then, as a PyTorch module's own: `features.1.0.layer_scale`. The layer's name and `.weight`, of
   * shape (C), if left out.
   */
  readonly parameter?: string
}

/**
 * Each channel of an image times a trained factor, near 0 at first: at the end of a residual body it lets a deep network begin as the identity (Touvron et al., "Going deeper with image
 * transformers", ICCV 2021).
 */
export function layerScale(options: LayerOptions<LayerScaleLayer> = {}): LayerScaleLayer {
  return { kind: 'layerScale', ...optionsOf('layerScale', options) }
}

/** Adds a number of its own to each channel of images, by an operator with the suffix `bias`. */
export function withBias(to: LayerWriter, x: ValueId, bias: ValueId): ValueId {
  const y = to.value(to.shape(x), 'biased')
  to.operator('channelAffine', [x, NONE, bias], [y], { suffix: 'biased' })
  return y
}

defineLayers({
  layerScale: {
    stem: 'scale',
    properties: { initial: true, parameter: true },
    build({ initial = 1e-6, parameter }, to, x) {
      const shape = to.image(x, 'put it before flatten')
      const value = to.number('initial', initial, 'that is finite', Number.isFinite)
      const extents = parameter === undefined ? [shape[1]] : [shape[1], 1, 1]
      const scale = to.table(parameter, extents, { kind: 'constant', value })
      return to.result('channelAffine', x, shape, {}, [scale, NONE])
    }
  }
})

function gradient(pass: Backpropagation): void {
  const [x, scale] = pass.inputs as readonly [ValueId, ValueId, ValueId]
  const arriving = pass.gradient()
  const ofNumbers = [pass.optionalContribution(1), pass.optionalContribution(2)]
  const isScaled = scale !== NONE
  // Where nothing is multiplied the gradient goes on as it is.
  const gx = isScaled ? pass.optionalContribution(0) : NONE
  if ([gx, ...ofNumbers].some((value) => value !== NONE))
    pass.emit('channelAffineBackward', [pass.wants(1) ? x : NONE, scale, arriving], [gx, ...ofNumbers])
  if (!isScaled && pass.wants(0)) pass.passOn(0, arriving)
}

/** ONNX puts the axes of two tensors beside each other from the last on. */
function onnx({ name, inputs: [x, scale, shift], shapes, output }: OnnxOperator): OnnxNodes {
  const part = (suffix: string): string => `${output} ${suffix}`
  const nodes: OnnxNode[] = []
  const ofPixels = (numbers: string, i: number): string => {
    if (shapes[i]!.length === 3) return numbers
    nodes.push(node('Unsqueeze', `${name} unsqueeze ${i}`, [numbers, part('axes')], part(`numbers ${i}`)))
    return part(`numbers ${i}`)
  }
  if (scale) nodes.push(node('Mul', `${name} scale`, [x!, ofPixels(scale, 1)], shift ? part('scaled') : output))
  if (shift) nodes.push(node('Add', `${name} shift`, [scale ? part('scaled') : x!, ofPixels(shift, 2)], output))
  return { nodes, constants: { [part('axes')]: [1, 2] } }
}

defineComposable({
  channelAffine: {
    gradient,
    flops: ({ inputs: [x, scale, shift] }) => sizeOf(x) * ((scale ? 1 : 0) + (shift ? 1 : 0)),
    onnx
  },
  channelAffineBackward: {
    flops: ({ inputs: [, , gy], outputs: [gx, gscale, gshift] }) => sizeOf(gy) * ((gx ? 1 : 0) + (gscale ? 2 : 0) + (gshift ? 1 : 0))
  }
})
