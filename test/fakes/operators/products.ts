import type { ComposedOperator } from '../../../src/model/composed.js'

/** Products of a sequence with itself, with every choice of transposes. */
export default {
  shape: (input) => input,
  build(builder, x) {
    const [batch, length, features] = builder.shape(x) as [number, number, number]
    const flags = (transposeA: number, transposeB: number) => ({ transposeA, transposeB })
    const squares = builder.add('matmul', [x, x], [batch, length, length], flags(0, 1))
    const across = builder.add('matmul', [x, squares], [batch, features, length], flags(1, 1))
    const along = builder.add('matmul', [squares, across], [batch, length, features], flags(0, 1))
    const again = builder.add('matmul', [squares, along], [batch, length, features], flags(1, 0))
    return builder.add('matmul', [squares, again], [batch, length, features], flags(0, 0))
  }
} satisfies ComposedOperator
