import type { ComposedOperator } from '../../../src/model/composed.js'

/** A linear layer through a narrow waist, y = B A x. */
export default {
  shape: (_input, { features }) => [features],
  build(builder, x, { rank, features }) {
    const [batch, inputs] = builder.shape(x) as [number, number]
    const initialiser = { kind: 'uniform', bound: 1 / Math.sqrt(inputs) } as const
    const narrow = builder.add('linear', [x, builder.parameter('a', [rank, inputs], initialiser), -1], [batch, rank], { relu: 0 })
    return builder.add('linear', [narrow, builder.parameter('b', [features, rank], initialiser), -1], [batch, features], { relu: 0 })
  }
} satisfies ComposedOperator<{ rank: number; features: number }>
