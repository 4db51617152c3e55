import { expect } from 'chai'
import { skip } from '../support/skip.js'
import { activation, drawn, wide, type OperatorCase, type Values } from './support/operator-case.js'
import { convolutionPasses, runByOurs, withBound } from './support/own-kernels.js'

type Pair = readonly [rows: number, columns: number]

interface Shape {
  readonly channels: number
  readonly stride?: Pair
  readonly padding?: number
  readonly kernel?: Pair
  /** Channels of a group. */
  readonly width?: number
  /** Of each channel. */
  readonly filters?: number
}

/** A convolution of images of 16x16 in groups, and its gradients. */
function passes({ channels, stride = [1, 1], padding = 1, kernel = [3, 3], width = 1, filters: multiple = 1 }: Shape): OperatorCase[] {
  const extent = (axis: 0 | 1): number => Math.floor((16 + 2 * padding - kernel[axis]) / stride[axis]) + 1
  const filters = channels * multiple
  const [x, w, b, y] = [
    activation(9, channels, 16, 16),
    wide(filters, width, ...kernel),
    wide(filters),
    activation(9, filters, extent(0), extent(1))
  ]
  const attributes = { stride, padding: [padding, padding], groups: channels / width, relu: 0 }
  return convolutionPasses({ x, w, b, y }, attributes)
}

/** The passes that kernels of our own run. */
const own = (shape: Shape, layout: string, precision: 'f32' | 'bf16' = 'f32'): string[] => runByOurs(passes(shape), layout, precision)

const square = (side: number, stride: number): Pick<Shape, 'kernel' | 'stride'> => ({ kernel: [side, side], stride: [stride, stride] })

const ALL = ['forward', 'data', 'weights']
const GRADIENTS = ['data', 'weights']
const SIDES = [3, 5, 7]

describe('convolutions with groups of few channels', () => {
  it('have kernels of our own where a group is one channel, for filters of 3x3, 5x5 and 7x7, strides of 1 and 2, and any padding below the side', () => {
    for (const side of SIDES)
      for (const stride of [1, 2])
        for (const padding of [0, 1, side - 1]) {
          const shape = { ...square(side, stride), padding }
          const expected = side > 3 && stride === 2 ? GRADIENTS : ALL
          expect(own({ ...shape, channels: 32 }, 'nChw16c')).to.deep.equal(expected)
          expect(own({ ...shape, channels: 21 }, 'nChw16c')).to.deep.equal(expected)
          expect(own({ ...shape, channels: 48 }, 'nhwc')).to.deep.equal(expected)
          expect(own({ ...shape, channels: 21 }, 'nhwc')).to.deep.equal(expected)
        }
  })

  it('have them for filters of 3x3 where a group is four channels or eight', function () {
    if (runByOurs(passes({ channels: 32, width: 4 }), 'nChw16c').length === 0) skip(this, 'the kernels of this processor have none')
    for (const width of [4, 8])
      for (const stride of [1, 2])
        for (const [channels, layout] of [
          [32, 'nChw16c'],
          [40, 'nChw16c'],
          [48, 'nhwc'],
          [24, 'nhwc']
        ] as const) {
          const shape = { ...square(3, stride), width, channels }
          expect(own(shape, layout), JSON.stringify(shape)).to.deep.equal(ALL)
          expect(own(shape, layout, 'bf16'), JSON.stringify(shape)).to.deep.equal(width === 4 ? ALL : ['weights'])
        }
  })

  it('have them in bfloat16 where oneDNN is slower', () => {
    const strided = (side: number): readonly string[] => (side === 3 ? [] : GRADIENTS)
    for (const side of SIDES)
      for (const stride of [1, 2]) {
        const shape = { ...square(side, stride), padding: 1, channels: 32 }
        expect(own(shape, 'nChw16c', 'bf16'), `side ${side}, stride ${stride}`).to.deep.equal(stride === 1 ? ALL : strided(side))
      }
  })

  it('are left to oneDNN in other shapes and layouts', () => {
    const others: (readonly [Shape, string])[] = [
      [{ channels: 16 }, 'plain'],
      [{ channels: 3 }, 'nhwc'],
      [{ channels: 16, stride: [2, 1] }, 'nChw16c'],
      [{ channels: 16, stride: [3, 3] }, 'nChw16c'],
      [{ channels: 16, padding: 3 }, 'nChw16c'],
      [{ channels: 16, kernel: [9, 9], padding: 4 }, 'nChw16c'],
      [{ channels: 16, kernel: [3, 1] }, 'nChw16c'],
      [{ channels: 16, kernel: [5, 3] }, 'nChw16c'],
      [{ channels: 16, filters: 2 }, 'nChw16c'],
      [{ channels: 32, width: 2 }, 'nChw16c'],
      [{ channels: 32, width: 16 }, 'nChw16c'],
      [{ channels: 32, width: 4, filters: 2 }, 'nChw16c'],
      [{ channels: 32, width: 4, kernel: [5, 5], padding: 2 }, 'nChw16c'],
      [{ channels: 1 }, 'nChw16c']
    ]
    for (const [shape, layout] of others) expect(own(shape, layout), JSON.stringify([shape, layout])).to.deep.equal([])
  })

  it('have the same bits on one thread and on several', () => {
    const shapes: Shape[] = [...SIDES.map((side) => square(side, 1)), ...SIDES.map((side) => square(side, 2))].flatMap((one) => [
      { ...one, channels: 64 },
      { ...one, channels: 69 }
    ])
    const grouped: Shape[] = [4, 8].flatMap((width) => [1, 2].map((stride) => ({ ...square(3, stride), width, channels: 72 })))
    for (const shape of [...shapes, ...grouped])
      for (const layout of ['nChw16c', 'nhwc']) {
        const ours = own(shape, layout)
        for (const use of passes(shape).filter(({ name }) => ours.includes(name))) {
          const values = drawn(use.inputs, 'f32', 3)
          const [alone, together] = [1, 4].map((threads): Values => withBound(use, layout, threads, (bound) => bound.run(values).outputs))
          expect(together, `${use.name}, ${JSON.stringify(shape)}, ${layout}`).to.deep.equal(alone)
        }
      }
  })
})
