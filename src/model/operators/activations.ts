import type { NoAttributes, ValueId } from '../graph.js'
import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf, type LayerRow } from './layer-table.js'
import { node, one, type OnnxNodes, type OnnxOperator } from './onnx.js'
import { backwardBy, defineComposable, perElement, type Backpropagation } from './table.js'

/** Activation functions: each takes a tensor of any shape, element by element. */

type ClampAttributes = { readonly least: number; readonly most: number }

declare module '../graph.js' {
  interface ComposableOperators {
    /** x -> y = max(0, x) */
    relu: NoAttributes
    /** y, gy -> gx */
    reluBackward: NoAttributes
    /** x -> y = 1 / (1 + e^-x) */
    sigmoid: NoAttributes
    /** y, gy -> gx */
    sigmoidBackward: NoAttributes
    /** x -> y */
    tanh: NoAttributes
    /** y, gy -> gx */
    tanhBackward: NoAttributes
    /** x -> y = max(x, 0) + slope * min(x, 0) */
    leakyRelu: { readonly slope: number }
    /** y, gy -> gx */
    leakyReluBackward: { readonly slope: number }
    /** x -> y = min(max(x, least), most) */
    clamp: ClampAttributes
    /** y, gy -> gx */
    clampBackward: ClampAttributes
    /** x -> y = min(max(x + 3, 0), 6) / 6 */
    hardSigmoid: NoAttributes
    /** x, gy -> gx */
    hardSigmoidBackward: NoAttributes
    /** x -> y = x * hardSigmoid(x) */
    hardSwish: NoAttributes
    /** x, gy -> gx */
    hardSwishBackward: NoAttributes
    /** x -> y = x times the share of the standard normal distribution below x; `approximate` 1: by tanh */
    gelu: { readonly approximate: number }
    /** x, gy -> gx */
    geluBackward: { readonly approximate: number }
    /** x -> y = x * sigmoid(x) */
    silu: NoAttributes
    /** x, gy -> gx */
    siluBackward: NoAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    relu: ActivationLayer<'relu'>
    sigmoid: ActivationLayer<'sigmoid'>
    tanh: ActivationLayer<'tanh'>
    leakyRelu: LeakyReluLayer
    clamp: ClampLayer
    hardSigmoid: ActivationLayer<'hardSigmoid'>
    hardSwish: ActivationLayer<'hardSwish'>
    gelu: GeluLayer
    silu: ActivationLayer<'silu'>
  }
}

/** An activation function without options of its own. */
export interface ActivationLayer<Kind extends string = 'relu' | 'sigmoid' | 'tanh' | 'silu' | 'hardSigmoid' | 'hardSwish'> extends Named {
  readonly kind: Kind
}

export interface LeakyReluLayer extends Named {
  readonly kind: 'leakyRelu'
  /** 0.01 if left out. */
  readonly slope?: number
}

export interface ClampLayer extends Named {
  readonly kind: 'clamp'
  readonly least: number
  readonly most: number
}

export interface GeluLayer extends Named {
  readonly kind: 'gelu'
  /** `none` if left out. */
  readonly approximate?: 'none' | 'tanh'
}

/** max(0, x) */
export function relu(options: Named = {}): ActivationLayer<'relu'> {
  return { kind: 'relu', ...optionsOf('relu', options) }
}

/** 1 / (1 + e^-x) */
export function sigmoid(options: Named = {}): ActivationLayer<'sigmoid'> {
  return { kind: 'sigmoid', ...optionsOf('sigmoid', options) }
}

/** The hyperbolic tangent. */
export function tanh(options: Named = {}): ActivationLayer<'tanh'> {
  return { kind: 'tanh', ...optionsOf('tanh', options) }
}

/** x where it is positive, else `slope` (0.01) times x (Maas et al., ICML 2013). */
export function leakyRelu(options: LayerOptions<LeakyReluLayer> = {}): LeakyReluLayer {
  return { kind: 'leakyRelu', ...optionsOf('leakyRelu', options) }
}

/** x, but no less than `least` and no more than `most`, two numbers that bfloat16 holds exactly. */
export function clamp(least: number, most: number, options: Named = {}): ClampLayer {
  return { kind: 'clamp', least, most, ...optionsOf('clamp', options) }
}

/** min(max(0, x), 6) (Krizhevsky, 2010). */
export function relu6(options: Named = {}): ClampLayer {
  return clamp(0, 6, options)
}

/** min(max(x + 3, 0), 6) / 6: three straight lines near the sigmoid (Howard et al., ICCV 2019). */
export function hardSigmoid(options: Named = {}): ActivationLayer<'hardSigmoid'> {
  return { kind: 'hardSigmoid', ...optionsOf('hardSigmoid', options) }
}

/** x * hardSigmoid(x) (Howard et al., ICCV 2019). */
export function hardSwish(options: Named = {}): ActivationLayer<'hardSwish'> {
  return { kind: 'hardSwish', ...optionsOf('hardSwish', options) }
}

/**
 * x times the standard normal distribution's share below x (Hendrycks and Gimpel, 2016), exact; with `approximate: 'tanh'` in the form that GPT-2
 * uses.
 */
export function gelu(options: LayerOptions<GeluLayer> = {}): GeluLayer {
  return { kind: 'gelu', ...optionsOf('gelu', options) }
}

/** x * sigmoid(x), also called swish (Elfwing et al., 2017). */
export function silu(options: Named = {}): ActivationLayer<'silu'> {
  return { kind: 'silu', ...optionsOf('silu', options) }
}

/** A layer that is one operator without attributes. */
function elementWise(kind: ActivationLayer['kind']): LayerRow<ActivationLayer> {
  return { stem: kind, properties: {}, build: (_, to, x) => to.result(kind, x, to.shape(x)) }
}

defineLayers({
  relu: elementWise('relu'),
  sigmoid: elementWise('sigmoid'),
  tanh: elementWise('tanh'),
  silu: elementWise('silu'),
  hardSigmoid: elementWise('hardSigmoid'),
  hardSwish: elementWise('hardSwish'),
  leakyRelu: {
    stem: 'leakyRelu',
    properties: { slope: true },
    build(layer, to, x) {
      const slope = to.number('slope', layer.slope ?? 0.01, 'from 0 to less than 2^31', (value) => value >= 0 && value < 2 ** 31)
      return to.result('leakyRelu', x, to.shape(x), { slope })
    }
  },
  clamp: {
    stem: 'clamp',
    properties: { least: true, most: true },
    build(layer, to, x) {
      // The gradient compares outputs with the bounds, which rounding must not move.
      const bound = (parameter: 'least' | 'most', holds: (value: number) => boolean, wanted: string): number =>
        to.number(
          parameter,
          layer[parameter],
          `${wanted}that bfloat16 holds exactly, such as 6`,
          (value) => isBfloat16(value) && holds(value)
        )
      const least = bound('least', () => true, '')
      const most = bound('most', (value) => value > least, `above ${least} and `)
      return to.result('clamp', x, to.shape(x), { least, most })
    }
  },
  gelu: {
    stem: 'gelu',
    properties: { approximate: true },
    build(layer, to, x) {
      const approximate = layer.approximate ?? 'none'
      if (approximate !== 'none' && approximate !== 'tanh') throw to.invalid('approximate', approximate, 'use none or tanh')
      return to.result('gelu', x, to.shape(x), { approximate: approximate === 'tanh' ? 1 : 0 })
    }
  }
})

/** Whether the lower half of its bits as a float is empty; below 2^127 in size, as the engine wants it. */
function isBfloat16(value: number): boolean {
  const [bits] = new Uint32Array(Float32Array.of(value).buffer)
  return Math.fround(value) === value && bits! % 2 ** 16 === 0 && Math.abs(value) < 2 ** 127
}

const ofInput = ({ inputs: [x] }: Backpropagation<unknown>): ValueId[] => [x!]
const ofOutput = ({ outputs: [y] }: Backpropagation<unknown>): ValueId[] => [y!]

defineComposable({
  relu: { gradient: backwardBy('reluBackward', ofOutput), flops: perElement(1), onnx: (operator) => one('Relu', operator) },
  reluBackward: { flops: perElement(1) },
  sigmoid: { gradient: backwardBy('sigmoidBackward', ofOutput), flops: perElement(4), onnx: (operator) => one('Sigmoid', operator) },
  sigmoidBackward: { flops: perElement(4) },
  tanh: { gradient: backwardBy('tanhBackward', ofOutput), flops: perElement(4), onnx: (operator) => one('Tanh', operator) },
  tanhBackward: { flops: perElement(4) },
  leakyRelu: {
    gradient: backwardBy('leakyReluBackward', ofOutput),
    flops: perElement(1),
    onnx: (operator) => one('LeakyRelu', operator, { alpha: { float: operator.attributes.slope } })
  },
  leakyReluBackward: { flops: perElement(1) },
  clamp: { gradient: backwardBy('clampBackward', ofOutput), flops: perElement(2), onnx: clampNodes },
  clampBackward: { flops: perElement(2) },
  hardSigmoid: {
    gradient: backwardBy('hardSigmoidBackward', ofInput),
    flops: perElement(4),
    onnx: (operator) => one('HardSigmoid', operator, { alpha: { float: 1 / 6 } })
  },
  hardSigmoidBackward: { flops: perElement(1) },
  hardSwish: { gradient: backwardBy('hardSwishBackward', ofInput), flops: perElement(5), onnx: (operator) => one('HardSwish', operator) },
  hardSwishBackward: { flops: perElement(4) },
  gelu: {
    gradient: backwardBy('geluBackward', ofInput),
    flops: perElement(8),
    onnx: (operator) => (operator.attributes.approximate === 1 ? geluByTanh(operator) : geluByErf(operator))
  },
  geluBackward: { flops: perElement(12) },
  silu: {
    gradient: backwardBy('siluBackward', ofInput),
    flops: perElement(4),
    onnx({ name, inputs: [x], output }) {
      const sigmoidOfX = `${output} sigmoid`
      return { nodes: [node('Sigmoid', `${name} sigmoid`, [x!], sigmoidOfX), node('Mul', name, [x!, sigmoidOfX], output)] }
    }
  },
  siluBackward: { flops: perElement(8) }
})

function clampNodes({ name, inputs: [x], output, attributes: { least, most } }: OnnxOperator<ClampAttributes>): OnnxNodes {
  const part = (suffix: string): string => `${output} ${suffix}`
  return {
    nodes: [node('Clip', name, [x!, part('least'), part('most')], output)],
    scalars: { [part('least')]: least, [part('most')]: most }
  }
}

/** x / 2 * (1 + erf(x / sqrt(2))): operator set 17 has no Gelu. */
function geluByErf({ name, inputs: [x], output }: OnnxOperator<unknown>): OnnxNodes {
  const part = (suffix: string): string => `${output} ${suffix}`
  return {
    nodes: [
      node('Mul', `${name} scale`, [x!, part('root')], part('scaled')),
      node('Erf', `${name} erf`, [part('scaled')], part('erf')),
      node('Add', `${name} shift`, [part('erf'), part('one')], part('share')),
      node('Mul', `${name} half`, [x!, part('half')], part('halved')),
      node('Mul', name, [part('halved'), part('share')], output)
    ],
    scalars: { [part('root')]: Math.SQRT1_2, [part('one')]: 1, [part('half')]: 0.5 }
  }
}

/** x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), which is the form with tanh. */
function geluByTanh({ name, inputs: [x], output }: OnnxOperator<unknown>): OnnxNodes {
  const part = (suffix: string): string => `${output} ${suffix}`
  const factor = 2 * Math.sqrt(2 / Math.PI)
  return {
    nodes: [
      node('Mul', `${name} square`, [x!, x!], part('square')),
      node('Mul', `${name} cubic`, [part('square'), part('coefficient')], part('cubic')),
      node('Add', `${name} sum`, [part('cubic'), part('factor')], part('sum')),
      node('Mul', `${name} argument`, [x!, part('sum')], part('argument')),
      node('Sigmoid', `${name} sigmoid`, [part('argument')], part('share')),
      node('Mul', name, [x!, part('share')], output)
    ],
    scalars: { [part('coefficient')]: factor * 0.044715, [part('factor')]: factor }
  }
}
