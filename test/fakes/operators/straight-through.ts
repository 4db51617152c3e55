import type { ComposedOperator } from '../../../src/model/composed.js'

/** max(0, x), whose gradient is passed on as if it were x. */
export const operator = {
  shape: (input) => input,
  build: (builder, x) => builder.add('relu', [x], builder.shape(x)),
  gradient: (builder, { gradient }) => builder.add('reshape', [gradient], builder.shape(gradient))
} satisfies ComposedOperator
