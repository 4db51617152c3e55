import type { ComposedOperator } from '../../../src/model/composed.js'

/** An image whose channels are multiplied by numbers of its own, beside the image itself. */
export default {
  shape: (input) => input,
  build(builder, x) {
    const shape = builder.shape(x)
    const means = builder.add('globalAvgPool', [x], shape.slice(0, 2))
    const gated = builder.add('scaleChannels', [x, builder.add('hardSigmoid', [means], shape.slice(0, 2))], shape)
    return builder.add('relu', [builder.add('add', [gated, x], shape, { relu: 0 })], shape)
  }
} satisfies ComposedOperator
