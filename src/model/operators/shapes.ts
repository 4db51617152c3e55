import { elements, type NoAttributes } from '../graph.js'
import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
import { node, one, type OnnxNodes, type OnnxOperator } from './onnx.js'
import { backwardBy, defineComposable } from './table.js'

/** Operators that give their input another shape and compute nothing. */

type SubsamplePadAttributes = { readonly stride: number; readonly before: number; readonly after: number }

declare module '../graph.js' {
  interface ComposableOperators {
    /** x -> y: the same elements in canonical order, another shape */
    reshape: NoAttributes
    /** x (N,C,H,W) -> y (N,before+C+after,ceil(H/stride),ceil(W/stride)) */
    subsamplePad: SubsamplePadAttributes
    /** gy -> gx */
    subsamplePadBackward: SubsamplePadAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    flatten: FlattenLayer
    subsamplePad: SubsamplePadLayer
  }
}

export interface FlattenLayer extends Named {
  readonly kind: 'flatten'
}

/** Every stride-th pixel, with zero channels before and after: the parameter-free shortcut (A) of the CIFAR ResNets. */
export interface SubsamplePadLayer extends Named {
  readonly kind: 'subsamplePad'
  readonly stride: number
  readonly before: number
  readonly after: number
}

/** (C, H, W) to (C*H*W). */
export function flatten(options: Named = {}): FlattenLayer {
  return { kind: 'flatten', ...optionsOf('flatten', options) }
}

/** Every stride-th pixel, with zero channels before and after. */
export function subsamplePad(
  stride: number,
  before: number,
  after: number,
  options: LayerOptions<SubsamplePadLayer, 'stride' | 'before' | 'after'> = {}
): SubsamplePadLayer {
  return { kind: 'subsamplePad', stride, before, after, ...optionsOf('subsamplePad', options) }
}

defineLayers({
  flatten: {
    stem: 'flatten',
    properties: {},
    build(_, to, x) {
      const [batch, ...sample] = to.shape(x) as [number, ...number[]]
      return to.result('reshape', x, [batch, elements(sample)])
    }
  },
  subsamplePad: {
    stem: 'subsample',
    properties: { stride: true, before: true, after: true },
    build(layer, to, x) {
      const [batch, channels, height, width] = to.image(x, 'put it before flatten')
      const stride = to.wholeNumber('stride', layer.stride, 1)
      const before = to.wholeNumber('before', layer.before, 0)
      const after = to.wholeNumber('after', layer.after, 0)
      const shape = [batch, channels + before + after, Math.ceil(height / stride), Math.ceil(width / stride)]
      return to.result('subsamplePad', x, shape, { stride, before, after })
    }
  }
})

defineComposable({
  reshape: { gradient: backwardBy('reshape'), onnx: reshapeNodes },
  subsamplePad: { gradient: backwardBy('subsamplePadBackward'), onnx: subsamplePadNodes },
  subsamplePadBackward: {}
})

/** The first axis takes up the batch, whatever its size. */
function reshapeNodes(operator: OnnxOperator<unknown>): OnnxNodes {
  const { name, inputs, output, shapes, result } = operator
  if (result.length === 2 && result[0] === shapes[0]![0]) return one('Flatten', operator)
  const wanted = `${output} shape`
  return { nodes: [node('Reshape', name, [inputs[0]!, wanted], output)], constants: { [wanted]: [-1, ...result.slice(1)] } }
}

function subsamplePadNodes({ name, inputs, output, shapes, attributes }: OnnxOperator<SubsamplePadAttributes>): OnnxNodes {
  const [, , height, width] = shapes[0] as [number, number, number, number]
  const { stride, before, after } = attributes
  const part = (suffix: string): string => `${output} ${suffix}`
  return {
    nodes: [
      node('Slice', `${name} slice`, [inputs[0]!, part('starts'), part('ends'), part('axes'), part('steps')], part('sliced')),
      node('Pad', name, [part('sliced'), part('pads')], output)
    ],
    constants: {
      [part('starts')]: [0, 0],
      [part('ends')]: [height, width],
      [part('axes')]: [2, 3],
      [part('steps')]: [stride, stride],
      [part('pads')]: [0, before, 0, 0, 0, after, 0, 0]
    }
  }
}
