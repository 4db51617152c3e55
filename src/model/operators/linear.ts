import type { NoAttributes, ValueId } from '../graph.js'
import type { Initialised } from '../initialisers.js'
import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
import { node, one, type OnnxNodes, type OnnxOperator } from './onnx.js'
import { defineComposable, sizeOf, type Backpropagation } from './table.js'
import { affineFlops, affineGradient, weightAndBias } from './weights.js'

type MatmulAttributes = { readonly transposeA: number; readonly transposeB: number }

declare module '../graph.js' {
  interface ComposableOperators {
    /** x (...,F), w (O,F), b (O)? -> y (...,O) */
    linear: { readonly relu: number }
    /** gy, w -> gx */
    linearBackwardData: NoAttributes
    /** x, gy -> gw, gb? */
    linearBackwardWeights: NoAttributes
    /** a (...,M,K), b (...,K,O) -> y (...,M,O); `transposeA`: a is (...,K,M), `transposeB`: b is (...,O,K) */
    matmul: MatmulAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    linear: LinearLayer
  }
}

/** x W' + b, of features (F) or of each position of (T, F). */
export interface LinearLayer extends Named, Initialised {
  readonly kind: 'linear'
  readonly features: number
  readonly bias?: boolean
  /** The layer, by its full name, whose weight this one uses as its own. */
  readonly tied?: string
}

/**
 * y = W x + b over the features of (F) or (T, F); put `flatten()` before it where the input is an image. `tied` names the layer, an embedding
 * or another linear one, whose weight is this layer's too.
 */
export function linear(features: number, options: LayerOptions<LinearLayer, 'features'> = {}): LinearLayer {
  return { kind: 'linear', features, ...optionsOf('linear', options) }
}

defineLayers({
  linear: {
    stem: 'linear',
    properties: { features: true, bias: true, tied: true, initialiser: true, biasInitialiser: true },
    build(layer, to, x) {
      const shape = to.rows(x)
      const features = to.wholeNumber('features', layer.features, 1)
      const weights = weightAndBias(layer, to, [features, shape.at(-1)!])
      return to.result('linear', x, [...shape.slice(0, -1), features], { relu: 0 }, weights)
    }
  }
})

defineComposable({
  linear: {
    endsInRelu: true,
    gradient: affineGradient('linearBackwardWeights', 'linearBackwardData'),
    flops: affineFlops.forward,
    onnx: (operator) => (operator.shapes[0]!.length === 2 ? one('Gemm', operator, { transB: 1 }) : linearOfRows(operator))
  },
  linearBackwardData: { flops: affineFlops.backwardData },
  linearBackwardWeights: { flops: affineFlops.backwardWeights },
  matmul: {
    gradient: matmulGradient,
    flops({ inputs: [a], outputs: [y], attributes }) {
      const inner = a!.at(attributes.transposeA ? -2 : -1)!
      return 2 * inner * sizeOf(y)
    },
    onnx: matmulNodes
  }
})

/** Each of the two gradients is the product of the other factor and gy, with the transposes that fit. */
function matmulGradient(pass: Backpropagation<MatmulAttributes>): void {
  const [a, b] = pass.inputs as [ValueId, ValueId]
  const transposed = { a: pass.attributes.transposeA === 1, b: pass.attributes.transposeB === 1 }
  const gy = pass.gradient()
  const product = (i: number, left: ValueId, right: ValueId, transposeA: boolean, transposeB: boolean): void => {
    if (!pass.wants(i)) return
    pass.emit('matmul', [left, right], [pass.contribution(i)], { transposeA: transposeA ? 1 : 0, transposeB: transposeB ? 1 : 0 })
  }
  if (transposed.a) product(0, b, gy, transposed.b, true)
  else product(0, gy, b, false, !transposed.b)
  if (transposed.b) product(1, gy, a, true, transposed.a)
  else product(1, a, gy, !transposed.a, false)
}

/** x w' + b of every row: Gemm takes matrices only, and the weight keeps its name and order. */
function linearOfRows({ name, inputs: [x, weight, bias = ''], output }: OnnxOperator<unknown>): OnnxNodes {
  const part = (suffix: string): string => `${output} ${suffix}`
  const product = bias === '' ? output : part('product')
  return {
    nodes: [
      node('Transpose', `${name} transpose`, [weight!], part('weight'), { perm: [1, 0] }),
      node('MatMul', bias === '' ? name : `${name} product`, [x!, part('weight')], product),
      ...(bias === '' ? [] : [node('Add', name, [product, bias], output)])
    ]
  }
}

function matmulNodes({ name, inputs, shapes, output, attributes }: OnnxOperator<MatmulAttributes>): OnnxNodes {
  const transposes = (['transposeA', 'transposeB'] as const).map((attribute, i) =>
    attributes[attribute] === 1
      ? node('Transpose', `${name} ${attribute}`, [inputs[i]!], `${output} ${attribute}`, { perm: lastTwoSwapped(shapes[i]!.length) })
      : undefined
  )
  const factors = inputs.map((input, i) => transposes[i]?.output ?? input)
  return { nodes: [...transposes.filter((each) => each !== undefined), node('MatMul', name, factors, output)] }
}

function lastTwoSwapped(rank: number): readonly number[] {
  const axes = Array.from({ length: rank }, (_, axis) => axis)
  return [...axes.slice(0, -2), rank - 1, rank - 2]
}
