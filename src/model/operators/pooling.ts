import { elements, NONE, type NoAttributes } from '../graph.js'
import { pairOf, windowsOf, type Window } from '../layer-checks.js'
import type { LayerOptions, Named, Pair } from '../layer.js'
import { defineLayers, optionsOf, type LayerRow } from './layer-table.js'
import { countingNodes, lengthsOf, type Padded } from './lengths.js'
import { node, one, type OnnxAttributes, type OnnxNodes, type OnnxOperator } from './onnx.js'
import { backwardBy, defineComposable, defineOperators, perElement, sizeOf } from './table.js'

type WindowAttributes = { readonly kernel: readonly number[]; readonly stride: readonly number[]; readonly padding: readonly number[] }

declare module '../graph.js' {
  interface ComposableOperators {
    /** x -> y, position?: of the maximum in its window */
    maxPool2d: WindowAttributes
    /** x -> y; padding counts as zeros */
    avgPool2d: WindowAttributes
    /** gy -> gx */
    avgPool2dBackward: WindowAttributes
    /** x (N,C,H,W) -> y (N,C) */
    globalAvgPool: NoAttributes
    /** gy -> gx */
    globalAvgPoolBackward: NoAttributes
    /** x (N,T,F), lengths (N)? -> y (N,F): the mean of the positions, or of those before the length of the sequence */
    meanPositions: NoAttributes
    /** gy, lengths? -> gx */
    meanPositionsBackward: NoAttributes
  }
  interface Operators {
    /** position, gy -> gx */
    maxPool2dBackward: WindowAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    maxPool2d: PoolLayer<'maxPool2d'>
    avgPool2d: PoolLayer<'avgPool2d'>
    globalAvgPool: GlobalAvgPoolLayer
    meanPositions: MeanPositionsLayer
  }
}

/** The maximum or the mean of each window of (C, H, W). */
export interface PoolLayer<Kind extends string = 'maxPool2d' | 'avgPool2d'> extends Named {
  readonly kind: Kind
  readonly kernel: Pair
  /** The kernel if left out. */
  readonly stride?: Pair
  readonly padding?: Pair
}

export interface GlobalAvgPoolLayer extends Named {
  readonly kind: 'globalAvgPool'
  /** An image of one pixel (C, 1, 1), which convolutions take, in the place of features (C). */
  readonly keepAxes?: boolean
}

/** With `padding`, positions behind the end of a text do not count. */
export interface MeanPositionsLayer extends Named, Padded {
  readonly kind: 'meanPositions'
}

/** The largest value of each window; windows do not overlap if `stride` is left out. */
export function maxPool2d(kernel: Pair, options: LayerOptions<PoolLayer, 'kernel'> = {}): PoolLayer<'maxPool2d'> {
  return { kind: 'maxPool2d', kernel, ...optionsOf('maxPool2d', options) }
}

/** The mean of each window, padding counted as zeros; windows do not overlap if `stride` is left out. */
export function avgPool2d(kernel: Pair, options: LayerOptions<PoolLayer, 'kernel'> = {}): PoolLayer<'avgPool2d'> {
  return { kind: 'avgPool2d', kernel, ...optionsOf('avgPool2d', options) }
}

/** The mean of each channel: (C, H, W) to (C), or to (C, 1, 1) with `keepAxes`. */
export function globalAvgPool(options: LayerOptions<GlobalAvgPoolLayer> = {}): GlobalAvgPoolLayer {
  return { kind: 'globalAvgPool', ...optionsOf('globalAvgPool', options) }
}

/** The mean of the positions of a sequence: (T, F) to (F); with `padding`, of those up to the last token of the model's input that is not that one. */
export function meanPositions(options: LayerOptions<MeanPositionsLayer> = {}): MeanPositionsLayer {
  return { kind: 'meanPositions', ...optionsOf('meanPositions', options) }
}

const pool: LayerRow<PoolLayer> = {
  stem: 'pool',
  properties: { kernel: true, stride: true, padding: true },
  build(layer, to, x) {
    const shape = to.image(x, 'put it before flatten')
    const kernel = pairOf(to.name, 'kernel', layer.kernel, 1)
    const window: Window = {
      kernel,
      stride: pairOf(to.name, 'stride', layer.stride ?? kernel, 1),
      padding: pairOf(to.name, 'padding', layer.padding ?? 0, 0)
    }
    if (window.padding.some((padding, axis) => 2 * padding > kernel[axis]!))
      throw to.invalid('padding', layer.padding, 'use at most half of the kernel')
    const output = [...shape.slice(0, 2), ...windowsOf(to.name, shape.slice(1), window)]
    // A position in its window is a byte.
    if (layer.kind === 'maxPool2d' && elements(kernel) > 255) throw to.invalid('kernel', layer.kernel, 'use a window of at most 255 pixels')
    return to.result(layer.kind, x, output, { kernel, stride: window.stride, padding: window.padding })
  }
}

defineLayers({
  maxPool2d: pool,
  avgPool2d: pool,
  globalAvgPool: {
    stem: 'pool',
    properties: { keepAxes: true },
    build(layer, to, x) {
      const [batch, channels] = to.image(x, 'put it before flatten')
      if (!to.truth('keepAxes', layer.keepAxes ?? false)) return to.result('globalAvgPool', x, [batch, channels])
      const means = to.value([batch, channels], 'means')
      to.operator('globalAvgPool', [x], [means], { suffix: 'means' })
      return to.result('reshape', means, [batch, channels, 1, 1])
    }
  },
  meanPositions: {
    stem: 'mean',
    properties: { padding: true },
    build({ padding }, to, x) {
      const [batch, , features] = to.sequence(x)
      return to.result('meanPositions', x, [batch, features], {}, padding === undefined ? [] : [lengthsOf(to, x, padding)])
    }
  }
})

defineComposable({
  maxPool2d: {
    saved: (y) => [{ suffix: 'position', shape: y, type: 'position' }],
    gradient: backwardBy('maxPool2dBackward', ({ outputs: [, position] }) => [position!]),
    flops: ({ outputs: [y], attributes: { kernel } }) => elements(kernel) * sizeOf(y),
    onnx: (operator) => one('MaxPool', operator, windowOf(operator.attributes))
  },
  avgPool2d: {
    gradient: backwardBy('avgPool2dBackward'),
    flops: ({ outputs: [y], attributes: { kernel } }) => (elements(kernel) + 1) * sizeOf(y),
    onnx: (operator) => one('AveragePool', operator, { ...windowOf(operator.attributes), count_include_pad: 1 })
  },
  avgPool2dBackward: { flops: ({ inputs: [gy], attributes: { kernel } }) => (elements(kernel) + 1) * sizeOf(gy) },
  globalAvgPool: {
    gradient: backwardBy('globalAvgPoolBackward'),
    flops: perElement(1),
    onnx({ name, inputs, output }) {
      const pooled = `${output} pooled`
      return { nodes: [node('GlobalAveragePool', name, inputs, pooled), node('Flatten', `${name} flatten`, [pooled], output)] }
    }
  },
  globalAvgPoolBackward: { flops: ({ outputs: [gx] }) => sizeOf(gx) },
  meanPositions: {
    gradient(pass) {
      const lengths = pass.inputs[1] ?? NONE
      pass.emit('meanPositionsBackward', [pass.gradient(), ...(lengths === NONE ? [] : [lengths])], [pass.contribution(0)])
    },
    flops: perElement(1),
    onnx: (operator) =>
      (operator.inputs[1] ?? '') === '' ? one('ReduceMean', operator, { axes: [1], keepdims: 0 }) : meanOfCounting(operator)
  },
  meanPositionsBackward: { flops: ({ outputs: [gx] }) => sizeOf(gx) }
})

defineOperators({ maxPool2dBackward: { flops: perElement(1) } })

/** ONNX gives the padding before every axis, then after. */
function windowOf({ kernel, stride, padding }: WindowAttributes): OnnxAttributes {
  return { kernel_shape: kernel, strides: stride, pads: [...padding, ...padding] }
}

/** The sum of the positions that count, by their number; 0 where none does. */
function meanOfCounting({ name, inputs: [x, lengths], output, shapes }: OnnxOperator<NoAttributes>): OnnxNodes {
  const [, length] = shapes[0] as [number, number, number]
  const part = (suffix: string): string => `${output} ${suffix}`
  const { nodes, constants, tables, counts } = countingNodes(name, output, lengths!, length)
  return {
    nodes: [
      ...nodes,
      node('Reshape', `${name} weights`, [counts, part('by position')], part('weights')),
      node('Mul', `${name} counted`, [x!, part('weights')], part('counted')),
      node('ReduceSum', `${name} sum`, [part('counted'), part('position axis')], part('sum'), { keepdims: 0 }),
      node('Max', `${name} divisor`, [part('lengths'), part('least')], part('divisor')),
      node('Div', name, [part('sum'), part('divisor')], output)
    ],
    constants: { ...constants, [part('by position')]: [-1, length, 1], [part('position axis')]: [1] },
    scalars: { [part('least')]: 1 },
    tables: tables!
  }
}
