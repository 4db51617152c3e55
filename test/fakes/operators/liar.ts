import type { ComposedOperator } from '../../../src/model/composed.js'

/** Says another shape than it builds. */
export default {
  shape: ([features]) => [features! + 1],
  build: (builder, x) => builder.add('relu', [x], builder.shape(x))
} satisfies ComposedOperator
