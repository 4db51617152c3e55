import { expect } from 'chai'
import type { LoweringRequest } from '../../src/compiler/program.js'
import { engine } from '../../src/engine/native.js'
import { ArbalestError } from '../../src/errors.js'
import { skip } from '../support/skip.js'
import { runOnce } from './support/bound-operator.js'
import { BLOCKED, hasTiles, needsBfloat16, passes, type ConvolutionShape } from './support/convolution-shapes.js'
import { drawn, type Values } from './support/operator-case.js'
import { runByOurs, withBound } from './support/own-kernels.js'

/** Images, widths and heights of small images that are work enough for several threads. */
const ENOUGH_FOR_THREADS = [
  [16, 2, 2],
  [9, 3, 3],
  [9, 4, 4]
] as const

const mapped = (values: Values, change: (number: number) => number): Values =>
  Object.fromEntries(Object.entries(values).map(([name, numbers]) => [name, numbers.map(change)]))

const inWholeNumbers = (values: Values): Values => mapped(values, (number) => Math.round(4 * number))

/** The passes that kernels of our own run. */
const own = (shape: ConvolutionShape, layout: string): string[] => runByOurs(passes(shape), layout)

describe('convolutions of 3x3 whose channels fill blocks', () => {
  before(function () {
    if (BLOCKED === '') skip(this, 'the kernels of this processor have none')
  })

  it('have kernels of our own for the widths that they are faster with', () => {
    const ours = (width: number): string[] => own({ channels: 32, filters: 48, width }, BLOCKED)
    for (const width of [4, 5, 6, 7, 8, 14, 32, 33]) expect(ours(width), `width ${width}`).to.deep.equal(['forward', 'data', 'weights'])
    for (const width of [2, 3]) expect(ours(width), `width ${width}`).to.deep.equal(['weights'])
  })

  it('have kernels of our own for small square images', () => {
    for (const width of [2, 3, 4])
      expect(own({ channels: 32, filters: 48, width, height: width }, BLOCKED)).to.deep.equal(['forward', 'data', 'weights'])
  })

  it('are exact for small whole numbers, with so many weights that no cache keeps them', () => {
    for (const shape of [
      { images: 2, height: 2, width: 2 },
      { images: 5, height: 3, width: 3 },
      { images: 1, height: 4, width: 9 },
      // In several shares, of images and of rows.
      { images: 80, height: 2, width: 2, channels: 32, filters: 32 },
      { images: 1, height: 200, width: 2, channels: 32, filters: 32 }
    ])
      for (const use of passes({ channels: 256, filters: 512, ...shape })) {
        const values = inWholeNumbers(drawn(use.inputs, 'f32', 3))
        const { outputs } = runOnce('reference', 'f64', use, values)
        for (const threads of [1, 4]) {
          const found = withBound(use, BLOCKED, threads, (bound) => bound.run(values).outputs)
          expect(found, `${use.name}, ${JSON.stringify(shape)}, ${threads} threads`).to.deep.equal(outputs)
        }
      }
  })

  it('are left to oneDNN in other shapes and layouts', () => {
    const others: (readonly [Partial<ConvolutionShape>, string])[] = [
      [{}, 'nhwc'],
      [{}, 'plain'],
      [{ channels: 20 }, BLOCKED],
      [{ filters: 20 }, BLOCKED],
      [{ stride: 2 }, BLOCKED],
      [{ padding: 0 }, BLOCKED],
      [{ kernel: 5, padding: 2 }, BLOCKED],
      [{ groups: 2 }, BLOCKED],
      [{ width: 1 }, BLOCKED]
    ]
    for (const [other, layout] of others)
      expect(own({ channels: 32, filters: 32, width: 16, ...other }, layout), JSON.stringify([other, layout])).to.deep.equal([])
  })

  it('have the same bits on one thread and on several', () => {
    for (const [images, width, height] of [...ENOUGH_FOR_THREADS, [3, 4, 10], [3, 8, 10], [3, 24, 10], [8, 22, 24]] as const)
      for (const use of passes({ channels: 64, filters: 128, images, width, height })) {
        const values = drawn(use.inputs, 'f32', 3)
        const [alone, together] = [1, 4].map((threads): Values => withBound(use, BLOCKED, threads, (bound) => bound.run(values).outputs))
        expect(together, `${use.name}, ${width}x${height}`).to.deep.equal(alone)
      }
  })
})

describe('convolutions of 3x3 of small images in bfloat16', () => {
  it('have kernels of our own on processors without tiles', function () {
    needsBfloat16(this)
    for (const width of [2, 3, 4])
      expect(runByOurs(passes({ channels: 32, filters: 48, width, height: width }), 'nChw16c', 'bf16')).to.deep.equal(
        hasTiles ? [] : ['forward', 'data', 'weights']
      )
  })

  it('are exact for whole numbers whose sums bfloat16 has, with the same bits on one thread and on several', function () {
    needsBfloat16(this)
    for (const [images, width, height] of [...ENOUGH_FOR_THREADS, [1, 2, 2], [5, 3, 3], [2, 4, 4]] as const)
      for (const use of passes({ channels: 16, filters: 16, images, width, height }).slice(0, 2)) {
        const values = mapped(drawn(use.inputs, 'bf16', 3), (number) => Math.sign(Math.round(number)))
        const { outputs } = runOnce('reference', 'f64', use, values)
        for (const threads of [1, 4])
          expect(
            withBound(use, 'nChw16c', threads, (bound) => bound.run(values).outputs, 'bf16'),
            `${use.name}, ${images} images of ${width}`
          ).to.deep.equal(outputs)
      }
  })
})

describe('the gradient of the weights of a convolution of 3x3 in bfloat16', () => {
  /** The layouts that kernels of our own take; with tiles of AMX it is one. */
  const layouts = hasTiles ? ['nhwc'] : ['nhwc', 'nChw16c']

  it('is computed by kernels of our own, with the same bits on one thread and on several', function () {
    needsBfloat16(this)
    for (const layout of layouts)
      for (const width of [2, 8, 33]) {
        const use = passes({ channels: 64, filters: 128, width })[2]!
        const values = drawn(use.inputs, 'bf16', 3)
        const [alone, together] = [1, 4].map((threads) =>
          withBound(use, layout, threads, (bound) => ({ by: bound.answer.implementation, outputs: bound.run(values).outputs }), 'bf16')
        )
        expect(alone!.by).to.match(/^own:/)
        expect(together!.outputs, `${layout}, width ${width}`).to.deep.equal(alone!.outputs)
      }
  })

  it('is exact for small whole numbers', function () {
    needsBfloat16(this)
    const shapes: ConvolutionShape[] = [
      ...[
        [1, 2, 2],
        [1, 7, 7],
        [1, 33, 30],
        [2, 5, 3],
        [3, 24, 24],
        [5, 4, 6],
        [9, 14, 14],
        [32, 6, 9],
        [33, 7, 7]
      ].map(([images, height, width]) => ({ channels: 32, filters: 48, images: images!, height: height!, width: width! })),
      // So many weights that no cache keeps them.
      { channels: 256, filters: 512, images: 2, height: 2, width: 2 },
      { channels: 256, filters: 512, images: 5, height: 3, width: 2 }
    ]
    for (const shape of shapes) {
      const use = passes(shape)[2]!
      const values = inWholeNumbers(drawn(use.inputs, 'bf16', 3))
      const { outputs } = runOnce('reference', 'f64', use, values)
      for (const layout of layouts)
        withBound(
          use,
          layout,
          1,
          (bound) => {
            // Transforms round.
            if (bound.answer.implementation.endsWith(':winograd')) return
            expect(bound.run(values).outputs, `${layout}, ${JSON.stringify(shape)}`).to.deep.equal(outputs)
          },
          'bf16'
        )
    }
  })

  it('is refused where an image has more elements than any memory', () => {
    const tensor = (shape: readonly number[]) => ({ shape, type: 'f32', layout: null }) as const
    const image = tensor([1, 16, 2 ** 32, 2 ** 32])
    for (const precision of ['f32', 'bf16'] as const) {
      const request: LoweringRequest = {
        kind: 'conv2dBackwardWeights',
        attributes: { stride: [1, 1], padding: [1, 1], groups: 1, relu: 0 },
        inputs: [image, image],
        outputs: [tensor([16, 16, 3, 3]), null],
        precision
      }
      expect(() => engine.lower('cpu', request), precision).to.throw(ArbalestError)
    }
  })
})
