import type { ComposedOperator } from '../../../src/model/composed.js'

/** A linear layer whose weight has an update of low rank, y = (W + B A) x. */
export default {
  shape: (_input, { features }) => [features],
  build(builder, x, { rank, features }) {
    const [batch, inputs] = builder.shape(x) as [number, number]
    const parameter = (name: string, shape: readonly number[]) => builder.parameter(name, shape, { kind: 'uniform', bound: 0.5 })
    const [w, a, b] = [parameter('w', [features, inputs]), parameter('a', [rank, inputs]), parameter('b', [features, rank])]
    const update = builder.add('matmul', [b, a], [features, inputs], { transposeA: 0, transposeB: 0 })
    const weight = builder.add('add', [w, update], [features, inputs], { relu: 0 })
    return builder.add('linear', [x, weight, -1], [batch, features], { relu: 0 })
  }
} satisfies ComposedOperator<{ rank: number; features: number }>
