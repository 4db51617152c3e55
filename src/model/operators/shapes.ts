import { elements, type NoAttributes } from '../graph.js'
import { pairOf } from '../layer-checks.js'
import type { LayerOptions, Named, Pair } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
import { node, one, type OnnxNodes, type OnnxOperator } from './onnx.js'
import { backwardBy, defineComposable, perElement } from './table.js'

/** Operators that give their input another shape, whose elements are those of the input or 0. */

type UpsampleAttributes = { readonly factor: readonly number[] }
type SubsamplePadAttributes = { readonly stride: number; readonly before: number; readonly after: number }

declare module '../graph.js' {
  interface ComposableOperators {
    /** x -> y: the same elements in canonical order, another shape */
    reshape: NoAttributes
    /** x (N,C,H,W) -> y (N,before+C+after,ceil(H/stride),ceil(W/stride)) */
    subsamplePad: SubsamplePadAttributes
    /** gy -> gx */
    subsamplePadBackward: SubsamplePadAttributes
    /** x (N,C,H,W) -> y (N,C,H*factor[0],W*factor[1]) */
    upsample2d: UpsampleAttributes
    /** gy -> gx */
    upsample2dBackward: UpsampleAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    flatten: FlattenLayer
    subsamplePad: SubsamplePadLayer
    upsample2d: Upsample2dLayer
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

/** Every pixel several times along each axis. */
export interface Upsample2dLayer extends Named {
  readonly kind: 'upsample2d'
  readonly factor: Pair
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

/** Every pixel `factor` times along each axis, as the nearest neighbour of a larger image: (C, H, W) to (C, factor*H, factor*W). */
export function upsample2d(factor: Pair, options: LayerOptions<Upsample2dLayer, 'factor'> = {}): Upsample2dLayer {
  return { kind: 'upsample2d', factor, ...optionsOf('upsample2d', options) }
}

/** How many times as high and wide an image becomes at most. */
const MOST_TIMES = 1024

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
  },
  upsample2d: {
    stem: 'upsample',
    properties: { factor: true },
    build(layer, to, x) {
      const [batch, channels, height, width] = to.image(x, 'put it before flatten')
      const factor = pairOf(to.name, 'factor', layer.factor, 1)
      if (Math.max(...factor) > MOST_TIMES) throw to.invalid('factor', layer.factor, `use at most ${MOST_TIMES}`)
      return to.result('upsample2d', x, [batch, channels, factor[0] * height, factor[1] * width], { factor })
    }
  }
})

defineComposable({
  reshape: { gradient: backwardBy('reshape'), onnx: reshapeNodes },
  subsamplePad: { gradient: backwardBy('subsamplePadBackward'), onnx: subsamplePadNodes },
  subsamplePadBackward: {},
  upsample2d: { gradient: backwardBy('upsample2dBackward'), onnx: tileNodes },
  upsample2dBackward: { flops: perElement(1) }
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

/** Each row and each column is repeated along an axis of its own. */
function tileNodes({ name, inputs, output, shapes, result, attributes }: OnnxOperator<UpsampleAttributes>): OnnxNodes {
  const [, channels, height, width] = shapes[0] as [number, number, number, number]
  const [rows, columns] = attributes.factor as [number, number]
  const part = (suffix: string): string => `${output} ${suffix}`
  return {
    nodes: [
      node('Reshape', `${name} apart`, [inputs[0]!, part('shape apart')], part('apart')),
      node('Tile', `${name} tile`, [part('apart'), part('repeats')], part('tiled')),
      node('Reshape', name, [part('tiled'), part('shape')], output)
    ],
    constants: {
      [part('shape apart')]: [-1, channels, height, 1, width, 1],
      [part('repeats')]: [1, 1, 1, rows, 1, columns],
      [part('shape')]: [-1, ...result.slice(1)]
    }
  }
}
