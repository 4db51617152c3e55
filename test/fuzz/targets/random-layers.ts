import fc from 'fast-check'
import { activations } from '../../support/activations.js'
import {
  avgPool2d,
  batchNorm2d,
  concat,
  conv2d,
  convTranspose2d,
  dropout,
  flatten,
  gelu,
  globalAvgPool,
  groupNorm,
  gru,
  imageOfPositions,
  imagePositions,
  layerNorm,
  layerNorm2d,
  layerScale,
  leakyRelu,
  linear,
  localResponseNorm,
  lstm,
  maxPool2d,
  multiply,
  residual,
  sigmoid,
  stochasticDepth,
  subsamplePad,
  upsample2d
} from '../../../src/model/layers.js'
import type { Layer, Pair } from '../../../src/model/layer.js'

const small = fc.integer({ min: 1, max: 4 })
const padding = fc.nat(2)
const either = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | [T, T]> => fc.oneof(value, fc.tuple(value, value))
const window = { kernel: either(small) as fc.Arbitrary<Pair>, stride: either(small) as fc.Arbitrary<Pair> }
const paddings = either(padding) as fc.Arbitrary<Pair>

/** Layers that keep the number of channels and the extents: what blocks are made of. */
const keeping: fc.Arbitrary<Layer> = fc.oneof(
  fc.constantFrom(...activations, dropout(0.5), stochasticDepth(0.5), gelu({ approximate: 'tanh' }), layerNorm()),
  fc.double({ min: 0.01, max: 0.9, noNaN: true }).map((slope) => leakyRelu({ slope })),
  fc.double({ min: 1e-5, max: 0.1, noNaN: true }).map((epsilon) => batchNorm2d({ epsilon })),
  fc.integer({ min: 1, max: 4 }).map((groups) => groupNorm(groups)),
  fc.constantFrom(1, 3, 5).map((size) => localResponseNorm(size, { alpha: 0.5 }))
)

const changing: fc.Arbitrary<Layer> = fc.oneof(
  fc
    .record({
      features: fc.integer({ min: 1, max: 9 }),
      ...window,
      padding: paddings,
      dilation: fc.constantFrom(1, 1, 2),
      groups: fc.constantFrom(1, 1, 2),
      bias: fc.boolean()
    })
    .map(({ features, kernel, ...options }) => conv2d(features, kernel, options)),
  fc
    .record({
      ...window,
      filters: fc.integer({ min: 1, max: 6 }),
      padding: paddings,
      outputPadding: fc.constantFrom(0, 0, 1),
      dilation: fc.constantFrom(1, 1, 2),
      groups: fc.constantFrom(1, 1, 2),
      bias: fc.boolean()
    })
    .map(({ filters, kernel, ...options }) => convTranspose2d(filters, kernel, options)),
  fc.record({ ...window, padding: paddings }).map(({ kernel, ...options }) => maxPool2d(kernel, options)),
  fc.record({ ...window, padding: paddings }).map(({ kernel, ...options }) => avgPool2d(kernel, options)),
  fc.tuple(small, padding, padding).map((numbers) => subsamplePad(...numbers)),
  either(small).map((factor) => upsample2d(factor)),
  fc.tuple(fc.integer({ min: 1, max: 9 }), fc.boolean()).map(([features, bias]) => linear(features, { bias })),
  fc
    .record({
      features: fc.integer({ min: 1, max: 5 }),
      bias: fc.boolean(),
      reverse: fc.boolean(),
      bidirectional: fc.constantFrom(false, false, true),
      layers: fc.constantFrom(1, 1, 2)
    })
    .chain(({ features, ...options }) => fc.constantFrom(lstm(features, options), gru(features, options))),
  fc.constantFrom(layerNorm2d(), layerScale(), imageOfPositions(2, 3)),
  fc.constantFrom(flatten(), imagePositions(), globalAvgPool(), globalAvgPool({ keepAxes: true }))
)

/** Layers one after another, blocks within blocks; most of them do not fit together. */
export const randomLayers: fc.Arbitrary<Layer[]> = fc.letrec<{ layers: Layer[]; layer: Layer }>((tie) => {
  const inner = fc.array(keeping, { minLength: 1, maxLength: 3 })
  return {
    layer: fc.oneof(
      { maxDepth: 2 },
      { weight: 4, arbitrary: keeping },
      { weight: 4, arbitrary: changing },
      { weight: 1, arbitrary: inner.map((body) => residual({ body })) },
      { weight: 1, arbitrary: inner.map((body) => multiply({ body })) },
      { weight: 1, arbitrary: fc.boolean().map((keepAxes) => multiply({ body: [globalAvgPool({ keepAxes }), sigmoid()] })) },
      { weight: 1, arbitrary: fc.array(tie('layers'), { minLength: 1, maxLength: 3 }).map((branches) => concat(branches)) }
    ),
    layers: fc.array(tie('layer'), { minLength: 1, maxLength: 5 })
  }
}).layers
