import { NONE, type ValueId } from '../graph.js'
import { initialiserOf, type Initialised } from '../initialisers.js'
import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf, type LayerRow } from './layer-table.js'
import { lengthsOf, type Padded } from './lengths.js'
import { node, type OnnxNodes, type OnnxOperator } from './onnx.js'
import { defineComposable, defineOperators, sizeOf, type Backpropagation, type SavedOutput, type Shape } from './table.js'

/** Layers that go through a sequence position by position, and take along what they have seen. */

type RecurrentAttributes = {
  /** 1: from the last position to the first. */
  readonly reverse: number
}

declare module '../graph.js' {
  interface ComposableOperators {
    /**
     * x (N,T,4F), w (4F,F), b (4F)?, lengths (N)? -> y (N,T,F), gates (N,T,4F)?, cells (N,T,F)?, previous (N,T,F)?
     *
     * Of x + w y' + b, where y' is the y of the position before (zeros at first), i, f and o are sigmoids and g is a tanh, in the order i, f, g, o; c = f c' + i g, y = o tanh(c).
     * Positions behind the length of their sequence give zeros. `gates` has i, f, g, o, `cells` c, and `previous` y', for the gradient.
     */
    lstm: RecurrentAttributes
    /**
     * x (N,T,3F), w (3F,F), b (3F)?, lengths (N)? -> y (N,T,F), gates (N,T,4F)?, previous (N,T,F)?
     *
     * Of x and s = w y' + b, in the order r, z, n: r and z are sigmoids of x + s, n = tanh(x + r s), y = (1 - z) n + z y'. `gates` has r, z, n and the s of n.
     */
    gru: RecurrentAttributes
  }
  interface Operators {
    /** gates, cells, w, gy, lengths? -> gx */
    lstmBackward: RecurrentAttributes
    /** gates, previous, w, gy, lengths? -> gx, gs (N,T,3F): the gradient of s */
    gruBackward: RecurrentAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    lstm: RecurrentLayer<'lstm'>
    gru: RecurrentLayer<'gru'>
  }
}

/** (T, F) to (T, features), or where it is bidirectional to (T, 2 * features). */
export interface RecurrentLayer<Kind extends string = 'lstm' | 'gru'> extends Named, Initialised, Padded {
  readonly kind: Kind
  readonly features: number
  readonly bias?: boolean
  /** From the last position to the first. */
  readonly reverse?: boolean
  /** Both ways, whose features come side by side: first those of the way from the first position on. */
  readonly bidirectional?: boolean
  /** How many of them one behind the other, each going through what the one before gives; 1 if left out. */
  readonly layers?: number
  /** The fraction of the features that dropout zeroes between two of the `layers`, in training only; 0 if left out. */
  readonly dropout?: number
}

/**
 * A long short-term memory (Hochreiter and Schmidhuber, Neural Computation 1997; with forget gates: Gers et al., 2000), as PyTorch's `LSTM`: (T, F) to (T,
 * features), each position from those before it. Its parameters are PyTorch's: `weight_ih_l0` (4 features, F), `weight_hh_l0` (4 features, features),
 * `bias_ih_l0`, `bias_hh_l0`, and so on for further `layers` (`_l1`), between which `dropout` may be, and the way back where it is `bidirectional` (`_l0_reverse`).
 * With `reverse` it begins at the last position. With `padding`, positions behind the end of a text are left out, and give zeros.
 */
export function lstm(features: number, options: LayerOptions<RecurrentLayer, 'features'> = {}): RecurrentLayer<'lstm'> {
  return { kind: 'lstm', features, ...optionsOf('lstm', options) }
}

/**
 * Gated recurrent units (Cho et al., EMNLP 2014), as PyTorch's `GRU`, where the reset gate scales the product with the state: (T, F) to (T,
 * features). Options and parameters are those of `lstm`, with three gates in the place of four.
 */
export function gru(features: number, options: LayerOptions<RecurrentLayer, 'features'> = {}): RecurrentLayer<'gru'> {
  return { kind: 'gru', features, ...optionsOf('gru', options) }
}

const recurrent = <Kind extends 'lstm' | 'gru'>(kind: Kind, gates: number): LayerRow<RecurrentLayer<Kind>> => ({
  stem: kind,
  properties: {
    features: true,
    bias: true,
    reverse: true,
    bidirectional: true,
    layers: true,
    dropout: true,
    padding: true,
    initialiser: true,
    biasInitialiser: true
  },
  build(layer, to, x) {
    const [batch, length, inputs] = to.sequence(x)
    const features = to.wholeNumber('features', layer.features, 1)
    const reverse = to.truth('reverse', layer.reverse ?? false)
    const bidirectional = to.truth('bidirectional', layer.bidirectional ?? false)
    if (bidirectional && reverse) throw to.invalid('reverse', reverse, 'leave it out: with bidirectional it goes both ways')
    const count = to.wholeNumber('layers', layer.layers ?? 1, 1)
    const rate = to.fraction('dropout', layer.dropout ?? 0)
    if (rate > 0 && count === 1)
      throw to.invalid('dropout', rate, 'leave it out: it is between two layers, and layers is 1; or add the layer dropout')
    const { initialiser = 'kaimingUniform', biasInitialiser } = layer
    const rows = gates * features
    // PyTorch draws all of them as if each output had `features` inputs.
    const usual = initialiserOf(to.name, 'initialiser', 'kaimingUniform', { fanIn: features, fanOut: rows })
    const weight = (suffix: string, columns: number): ValueId =>
      to.parameter(
        suffix,
        [rows, columns],
        layer.initialiser === undefined ? usual : initialiserOf(to.name, 'initialiser', initialiser, { fanIn: columns, fanOut: rows })
      )
    const ofBias = biasInitialiser === undefined ? usual : initialiserOf(to.name, 'biasInitialiser', biasInitialiser, null)
    const hasBias = to.truth('bias', layer.bias ?? true)
    const bias = (suffix: string): ValueId => (hasBias ? to.parameter(suffix, [rows], ofBias) : NONE)
    const lengths = layer.padding === undefined ? [] : [lengthsOf(to, x, layer.padding)]
    const oneWay = (from: ValueId, columns: number, number: number, back: boolean): ValueId => {
      const suffix = `l${number}${back && bidirectional ? '_reverse' : ''}`
      const [ofInput, ofState] = [weight(`weight_ih_${suffix}`, columns), weight(`weight_hh_${suffix}`, features)]
      const [biasOfInput, biasOfState] = [bias(`bias_ih_${suffix}`), bias(`bias_hh_${suffix}`)]
      const product = to.value([batch, length, rows], `inputs_${suffix}`)
      to.operator('linear', [from, ofInput, biasOfInput], [product], { attributes: { relu: 0 }, suffix: `inputs_${suffix}` })
      const isLast = number === count - 1 && !bidirectional
      const read = [ofState, biasOfState, ...lengths]
      return to.result(kind, product, [batch, length, features], { reverse: back ? 1 : 0 }, read, isLast ? '' : suffix)
    }
    const bothWays = (from: ValueId, columns: number, number: number): ValueId => {
      const ways = [oneWay(from, columns, number, false), oneWay(from, columns, number, true)]
      const suffix = number === count - 1 ? '' : `l${number}_both`
      const both = to.value([batch, length, 2 * features], suffix)
      to.operator('concat', ways, [both], { attributes: { channels: [features, features] }, suffix })
      return both
    }
    let [y, columns] = [x, inputs]
    for (let number = 0; number < count; number++) {
      if (number > 0) y = to.dropped('dropout', y, rate, `l${number - 1}_dropout`)
      y = bidirectional ? bothWays(y, columns, number) : oneWay(y, columns, number, reverse)
      columns = to.shape(y)[2]!
    }
    return y
  }
})

defineLayers({ lstm: recurrent('lstm', 4), gru: recurrent('gru', 3) })

const saved = (y: Shape, others: readonly SavedOutput[]): readonly SavedOutput[] => [
  { suffix: 'gates', shape: [...y.slice(0, -1), 4 * y.at(-1)!], type: 'float' },
  ...others,
  { suffix: 'previous', shape: y, type: 'float' }
]

defineComposable({
  lstm: {
    saved: (y) => saved(y, [{ suffix: 'cells', shape: y, type: 'statistic' }]),
    gradient(pass) {
      const [, gates, cells, previous] = pass.outputs as [ValueId, ValueId, ValueId, ValueId]
      const gx = pass.contribution(0)
      pass.emit('lstmBackward', [gates, cells, pass.inputs[1]!, pass.gradient(), ...lengthsIn(pass)], [gx], pass.attributes)
      weightsGradient(pass, previous, gx)
    },
    flops: ({ inputs: [, w], outputs: [y] }) => recurrentFlops(w, y, 24),
    onnx: (operator) => recurrentNodes('LSTM', [0, 3, 1, 2], {}, operator)
  },
  gru: {
    saved: (y) => saved(y, []),
    gradient(pass) {
      const [, gates, previous] = pass.outputs as [ValueId, ValueId, ValueId]
      const gx = pass.contribution(0)
      const gs = pass.beside('state', pass.inputs[0]!)
      pass.emit('gruBackward', [gates, previous, pass.inputs[1]!, pass.gradient(), ...lengthsIn(pass)], [gx, gs], pass.attributes)
      weightsGradient(pass, previous, gs)
    },
    flops: ({ outputs: [y], inputs: [, w] }) => recurrentFlops(w, y, 20),
    onnx: (operator) => recurrentNodes('GRU', [1, 0, 2], { linear_before_reset: 1 }, operator)
  }
})

defineOperators({
  lstmBackward: { flops: ({ inputs: [, , w, gy] }) => recurrentFlops(w, gy, 30) },
  gruBackward: { flops: ({ inputs: [, , w, gy] }) => recurrentFlops(w, gy, 24) }
})

/** Of each position: the product of its state and w, and `operations` for each of its features. */
function recurrentFlops(w: Shape | undefined, state: Shape | undefined, operations: number): number {
  return sizeOf(state) * (2 * w![0]! + operations)
}

function lengthsIn({ inputs }: Backpropagation<RecurrentAttributes>): readonly ValueId[] {
  const lengths = inputs[3] ?? NONE
  return lengths === NONE ? [] : [lengths]
}

/** Those of a product with the states before, over all positions at once. */
function weightsGradient(pass: Backpropagation<RecurrentAttributes>, previous: ValueId, gradient: ValueId): void {
  if (pass.wants(1) || pass.wants(2))
    pass.emit('linearBackwardWeights', [previous, gradient], [pass.contribution(1), pass.optionalContribution(2)], { relu: 0 })
}

/**
 * The nodes of a recurrent operator: ONNX's of this type. That one has the product with the input inside of it, where here a layer before makes it: so its weight of the
 * input is the identity, with the gates in ONNX's order. `order` says which of our gates comes at each of its places.
 */
function recurrentNodes(
  opType: 'LSTM' | 'GRU',
  order: readonly number[],
  attributes: Readonly<Record<string, number>>,
  { name, inputs: [x, w, b = '', lengths = ''], output, shapes, result, attributes: { reverse } }: OnnxOperator<RecurrentAttributes>
): OnnxNodes {
  const rows = shapes[0]!.at(-1)!
  const [, length, features] = result as readonly [number, number, number]
  const part = (suffix: string): string => `${output} ${suffix}`
  const step = (type: string, of: readonly string[], to: string, given = {}) => node(type, `${name} ${to}`, of, part(to), given)
  /** A parameter's gates in ONNX's order, with an axis before them for the direction. */
  const ordered = (of: string, to: string, extents: 'table' | 'list') => [
    step('Reshape', [of, part(`${extents} by gate`)], `${to} by gate`),
    step('Gather', [part(`${to} by gate`), part('order')], `${to} in order`),
    step('Reshape', [part(`${to} in order`), part(extents)], to)
  ]
  const hasBias = b !== ''
  const isPadded = lengths !== ''
  return {
    nodes: [
      step('Transpose', [x!], 'by position', { perm: [1, 0, 2] }),
      step('ConstantOfShape', [part('square')], 'zeros'),
      step('EyeLike', [part('zeros')], 'identity'),
      ...ordered(part('identity'), 'of input', 'table'),
      ...ordered(w!, 'of state', 'table'),
      ...(hasBias
        ? [
            ...ordered(b, 'of state alone', 'list'),
            step('ConstantOfShape', [part('list')], 'no bias'),
            step('Concat', [part('no bias'), part('of state alone')], 'biases', { axis: 1 })
          ]
        : []),
      ...(isPadded ? [step('Cast', [lengths], 'lengths', { to: INT32 })] : []),
      step(
        opType,
        [part('by position'), part('of input'), part('of state'), hasBias ? part('biases') : '', isPadded ? part('lengths') : ''],
        'with direction',
        { ...attributes, hidden_size: features, direction: { text: reverse === 1 ? 'reverse' : 'forward' } }
      ),
      step('Transpose', [part('with direction')], 'by sample', { perm: [2, 0, 1, 3] }),
      node('Reshape', name, [part('by sample'), part('sequence')], output)
    ],
    constants: {
      [part('square')]: [rows, rows],
      [part('order')]: order,
      [part('table by gate')]: [order.length, features, -1],
      [part('table')]: [1, rows, -1],
      ...(hasBias && { [part('list by gate')]: [order.length, features], [part('list')]: [1, rows] }),
      [part('sequence')]: [-1, length, features]
    }
  }
}

/** ONNX's number of the type. */
const INT32 = 6
