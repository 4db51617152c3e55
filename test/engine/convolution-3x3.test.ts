import { expect } from 'chai'
import { BoundOperator } from './support/bound-operator.js'
import { skip } from '../support/skip.js'
import { activation, drawn, wide, type OperatorCase, type Values } from './support/operator-case.js'

interface Shape {
  readonly channels: number
  readonly filters: number
  readonly width: number
  readonly stride?: number
  readonly padding?: number
  readonly kernel?: number
  readonly groups?: number
}

/** A convolution of three images, and its gradients. */
function passes({ channels, filters, width, stride = 1, padding = 1, kernel = 3, groups = 1 }: Shape): OperatorCase[] {
  const extent = (size: number): number => Math.floor((size + 2 * padding - kernel) / stride) + 1
  const [x, w, b, y] = [
    activation(3, channels, 10, width),
    wide(filters, channels / groups, kernel, kernel),
    wide(filters),
    activation(3, filters, extent(10), extent(width))
  ]
  const attributes = { stride: [stride, stride], padding: [padding, padding], groups, relu: 0 }
  return [
    { kind: 'conv2d', name: 'forward', attributes, inputs: { x, w, b }, outputs: { y } },
    { kind: 'conv2dBackwardData', name: 'data', attributes, inputs: { gy: y, w }, outputs: { gx: x } },
    { kind: 'conv2dBackwardWeights', name: 'weights', attributes, inputs: { x, gy: y }, outputs: { gw: w, gb: b } }
  ]
}

function withBound<T>(use: OperatorCase, layout: string, threads: number, work: (bound: BoundOperator) => T): T {
  const bound = new BoundOperator('cpu', 'f32', use, { layout, threads })
  try {
    return work(bound)
  } finally {
    bound.release()
  }
}

/** The passes that kernels of our own run. */
const own = (shape: Shape, layout: string): string[] =>
  passes(shape)
    .filter((use) => withBound(use, layout, 1, ({ answer }) => answer.implementation.startsWith('own:')))
    .map(({ name }) => name)

describe('convolutions of 3x3 whose channels fill blocks', () => {
  /** The blocks of the kernels that this processor runs; undefined where they have none of these. */
  const blocked = ['nChw16c', 'nChw8c'].find((layout) => own({ channels: 32, filters: 32, width: 4 }, layout).length > 0)

  before(function () {
    if (blocked === undefined) skip(this, 'the kernels of this processor have none')
  })

  it('have kernels of our own for the widths that they are faster with', () => {
    const ours = (width: number): string[] => own({ channels: 32, filters: 48, width }, blocked!)
    const avx512 = blocked === 'nChw16c'
    for (const width of [11, 12, 28, 32])
      expect(ours(width), `width ${width}`).to.deep.equal(['forward', 'data', ...(avx512 ? ['weights'] : [])])
    for (const width of [7, 8, 14, 16]) expect(ours(width), `width ${width}`).to.deep.equal(avx512 ? ['forward', 'data', 'weights'] : [])
    for (const width of [2, 4]) expect(ours(width), `width ${width}`).to.deep.equal(['weights'])
  })

  it('are left to oneDNN in other shapes and layouts', () => {
    const others: (readonly [Partial<Shape>, string])[] = [
      [{}, 'nhwc'],
      [{}, 'plain'],
      [{ channels: 20 }, blocked!],
      [{ filters: 20 }, blocked!],
      [{ stride: 2 }, blocked!],
      [{ padding: 0 }, blocked!],
      [{ kernel: 5, padding: 2 }, blocked!],
      [{ groups: 2 }, blocked!],
      [{ width: 1 }, blocked!]
    ]
    for (const [other, layout] of others)
      expect(own({ channels: 32, filters: 32, width: 16, ...other }, layout), JSON.stringify([other, layout])).to.deep.equal([])
  })

  it('have the same bits on one thread and on several', () => {
    for (const width of [4, 8, 24])
      for (const use of passes({ channels: 64, filters: 48, width })) {
        const values = drawn(use.inputs, 'f32', 3)
        const [alone, together] = [1, 4].map((threads): Values => withBound(use, blocked!, threads, (bound) => bound.run(values).outputs))
        expect(together, `${use.name}, width ${width}`).to.deep.equal(alone)
      }
  })
})
