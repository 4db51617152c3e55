import { expect } from 'chai'
import { skip } from '../support/skip.js'
import { runOnce, type BoundOperator, type Outcome } from './support/bound-operator.js'
import { BLOCKED, hasTiles, needsBfloat16, passes, type ConvolutionShape } from './support/convolution-shapes.js'
import { drawn } from './support/operator-case.js'
import { withBound } from './support/own-kernels.js'

/** The root of the mean square. */
const size = (numbers: Float64Array): number => Math.sqrt(numbers.reduce((sum, number) => sum + number * number, 0) / numbers.length)

describe("convolutions by Winograd's transforms", () => {
  /** Some and all tiles or weights at once, tiles partly outside of an image, blocks without a partner. */
  const SHAPES: readonly ConvolutionShape[] = [
    { images: 1, channels: 32, filters: 48, height: 8, width: 8 },
    { images: 2, channels: 48, filters: 16, height: 9, width: 13 },
    { images: 3, channels: 32, filters: 48, height: 6, width: 7 },
    { images: 6, channels: 128, filters: 16, height: 4, width: 4 },
    { images: 4, channels: 16, filters: 48, height: 17, width: 30 },
    { images: 12, channels: 16, filters: 16, height: 32, width: 32 }
  ]

  /** Those of images as they are stored, whose channels fill no blocks. A register holds several channels, or, where these fill it better, images. */
  const IN_PLANES: readonly ConvolutionShape[] = [
    { images: 3, channels: 20, filters: 50, height: 12, width: 12, kernel: 5, padding: 0 },
    { images: 17, channels: 31, filters: 50, height: 12, width: 12, kernel: 5, padding: 0 },
    { images: 1, channels: 33, filters: 21, height: 9, width: 20, kernel: 5, padding: 0 }
  ]
  const OF_IMAGES: readonly ConvolutionShape[] = [
    { images: 16, channels: 20, filters: 50, height: 12, width: 12, kernel: 5, padding: 0 },
    { images: 31, channels: 18, filters: 33, height: 9, width: 20, kernel: 5, padding: 0 },
    { images: 48, channels: 5, filters: 49, height: 12, width: 28, kernel: 5, padding: 0 },
    // The last rows of tiles are fewer than those before, in larger pieces.
    { images: 64, channels: 12, filters: 50, height: 12, width: 12, kernel: 5, padding: 0, relu: true },
    { images: 16, channels: 12, filters: 50, height: 24, width: 12, kernel: 5, padding: 0, bias: false }
  ]

  /** What adds up in float. Activations are rounded when they are stored. */
  const OF_SUMS = 4e-6

  /**
   * Expects that the error of each output, as a part of its size, both by the root of the mean square, is below a bound, on one thread and
   * on four; and returns which passes of which shapes are computed so.
   */
  const passesWithin = (
    shapes: readonly ConvolutionShape[],
    { layout, precision, by = 'winograd' }: { readonly layout: string; readonly precision: 'f32' | 'bf16'; readonly by?: string },
    bounds: { readonly activations: number; readonly weights: number }
  ): string[] =>
    shapes.flatMap((shape, i) =>
      passes(shape).flatMap((use) => {
        const values = drawn(use.inputs, precision, 3)
        const run = (bound: BoundOperator): Outcome | undefined =>
          bound.answer.implementation.endsWith(`:${by}`) ? bound.run(values) : undefined
        const [alone, together] = [1, 4].map((threads) => withBound(use, layout, threads, run, precision))
        if (alone === undefined) return []
        expect(together, `${use.name} of ${JSON.stringify(shape)} on four threads`).to.deep.equal(alone)
        expect(alone.faults).to.deep.equal([])
        const exact = runOnce('reference', 'f64', use, values).outputs
        for (const [name, numbers] of Object.entries(alone.outputs)) {
          const off = numbers.map((number, at) => number - exact[name]![at]!)
          const bound = name === 'y' || name === 'gx' ? bounds.activations : bounds.weights
          expect(size(off) / size(exact[name]!), `${name} of ${JSON.stringify(shape)}`).to.be.below(bound)
        }
        return [`${i} ${use.name}`]
      })
    )

  /** All passes of these shapes. */
  const all = (shapes: readonly number[]): string[] => shapes.flatMap((i) => [`${i} forward`, `${i} data`, `${i} weights`])

  it('round little more than sums of taps', function () {
    if (BLOCKED === '') skip(this, 'the kernels of this processor have none')
    const found = passesWithin(SHAPES, { layout: BLOCKED, precision: 'f32' }, { activations: OF_SUMS, weights: OF_SUMS })
    expect(found).to.deep.equal(all([0, 1, 2, 3, 4, 5]))
  })

  it('round in planes a few times as much as sums of taps', function () {
    if (BLOCKED === '') skip(this, 'the kernels of this processor have none')
    const found = passesWithin(IN_PLANES, { layout: 'plain', precision: 'f32' }, { activations: 1e-5, weights: 1e-5 })
    expect(found).to.include.members(all([1]))
    expect(found).to.include('0 data')
    expect(found).to.include('2 weights')
  })

  it('round in planes the same with images in registers', function () {
    if (BLOCKED === '') skip(this, 'the kernels of this processor have none')
    const how = { layout: 'plain', precision: 'f32', by: 'winograd-of-images' } as const
    const found = passesWithin(OF_IMAGES, how, { activations: 1e-5, weights: 1e-5 })
    expect(found).to.deep.equal(OF_IMAGES.flatMap((_, i) => [`${i} forward`, `${i} data`]))
  })

  it('round in bfloat16 as what is stored is rounded', function () {
    needsBfloat16(this)
    if (hasTiles) skip(this, 'tiles of AMX are faster')
    const found = passesWithin(SHAPES, { layout: BLOCKED, precision: 'bf16' }, { activations: 2 ** -9, weights: OF_SUMS })
    expect(found).to.include.members(all([0, 4, 5]))
  })

  it('round in bfloat16 in planes, too', function () {
    needsBfloat16(this)
    if (hasTiles) skip(this, 'tiles of AMX are faster')
    const how = { layout: 'plain', precision: 'bf16' } as const
    const weights = passesWithin(OF_IMAGES, how, { activations: 2 ** -9, weights: 1e-5 })
    expect(weights).to.include('0 weights')
    const others = passesWithin(OF_IMAGES, { ...how, by: 'winograd-of-images' }, { activations: 2 ** -9, weights: 1e-5 })
    expect(others).to.include.members(['0 forward', '0 data', '1 forward'])
  })
})
