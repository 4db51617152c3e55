import * as fc from 'fast-check'
import { batchNorm2d, clamp, concat, conv2d, defineModel, globalAvgPool, linear, residual } from '../../../src/model/layers.js'
import type { Layer } from '../../../src/model/layer.js'
import type { Model } from '../../../src/model/model.js'

/** Small valid models as MobileNetV2 is made: blocks of depthwise convolutions between two of 1x1, clamped from both sides, some with a shortcut. */
export function randomDepthwiseModel(): fc.Arbitrary<Model> {
  const recipe = fc.record({
    channels: fc.integer({ min: 1, max: 5 }),
    extent: fc.tuple(fc.integer({ min: 3, max: 7 }), fc.integer({ min: 3, max: 7 })),
    bounds: fc.constantFrom([-0.5, 1] as const, [0, 0.75] as const, [-2, -0.25] as const),
    blocks: fc.array(
      fc.record({
        expansion: fc.integer({ min: 1, max: 3 }),
        kernel: fc.constantFrom(1, 3, 5),
        stride: fc.integer({ min: 1, max: 2 }),
        branches: fc.boolean(),
        bias: fc.boolean()
      }),
      { minLength: 1, maxLength: 3 }
    )
  })
  return recipe.map(({ channels, extent, bounds, blocks }) => {
    const layers = blocks.flatMap(({ expansion, kernel, stride, branches, bias }, i): Layer[] => {
      const hidden = channels * expansion
      const [least, most] = bounds
      const inner: Layer[] = [
        conv2d(hidden, 1, { bias }),
        batchNorm2d({ epsilon: 0.01 }),
        clamp(least, most),
        conv2d(hidden, kernel, { stride, padding: (kernel - 1) / 2, groups: hidden, bias }),
        clamp(least, most),
        conv2d(channels, 1)
      ]
      const beside = conv2d(1, 1, { stride, name: 'beside' })
      if (branches) return [concat([inner, [beside]], { name: `b${i}`, branchName: `b${i}` }), conv2d(channels, 1)]
      return stride === 1 ? [residual({ body: inner, relu: false })] : inner
    })
    return defineModel({
      name: 'random',
      input: [channels, ...extent],
      layers: [...layers, globalAvgPool(), linear(3)]
    })
  })
}
