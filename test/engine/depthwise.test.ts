import { expect } from 'chai'
import { activation, drawn, wide, type OperatorCase, type Values } from './support/operator-case.js'
import { convolutionPasses, runByOurs, withBound } from './support/own-kernels.js'

type Pair = readonly [rows: number, columns: number]

interface Shape {
  readonly channels: number
  readonly stride?: Pair
  readonly padding?: number
  readonly kernel?: Pair
  readonly filtersAChannel?: number
}

/** A convolution of images of 16x16 with a group for each channel, and its gradients. */
function passes({ channels, stride = [1, 1], padding = 1, kernel = [3, 3], filtersAChannel = 1 }: Shape): OperatorCase[] {
  const extent = (axis: 0 | 1): number => Math.floor((16 + 2 * padding - kernel[axis]) / stride[axis]) + 1
  const filters = channels * filtersAChannel
  const [x, w, b, y] = [
    activation(9, channels, 16, 16),
    wide(filters, 1, ...kernel),
    wide(filters),
    activation(9, filters, extent(0), extent(1))
  ]
  const attributes = { stride, padding: [padding, padding], groups: channels, relu: 0 }
  return convolutionPasses({ x, w, b, y }, attributes)
}

/** The passes that kernels of our own run. */
const own = (shape: Shape, layout: string, precision: 'f32' | 'bf16' = 'f32'): string[] => runByOurs(passes(shape), layout, precision)

const square = (side: number, stride: number): Pick<Shape, 'kernel' | 'stride'> => ({ kernel: [side, side], stride: [stride, stride] })

const ALL = ['forward', 'data', 'weights']
const GRADIENTS = ['data', 'weights']
const SIDES = [3, 5, 7]

describe('depthwise convolutions', () => {
  it('have kernels of our own for filters of 3x3, 5x5 and 7x7, strides of 1 and 2, and any padding below the side', () => {
    for (const side of SIDES)
      for (const stride of [1, 2])
        for (const padding of [0, 1, side - 1]) {
          const shape = { ...square(side, stride), padding }
          const expected = side === 5 && stride === 2 ? GRADIENTS : ALL
          expect(own({ ...shape, channels: 32 }, 'nChw16c')).to.deep.equal(expected)
          expect(own({ ...shape, channels: 21 }, 'nChw16c')).to.deep.equal(expected)
          expect(own({ ...shape, channels: 48 }, 'nhwc')).to.deep.equal(expected)
          expect(own({ ...shape, channels: 21 }, 'nhwc')).to.deep.equal(expected)
        }
  })

  it('have them in bfloat16 where oneDNN is slower', function () {
    const expected = (side: number, stride: number): readonly string[] => {
      if (stride === 1) return side === 5 ? GRADIENTS : ALL
      return side === 3 ? [] : GRADIENTS
    }
    for (const side of SIDES)
      for (const stride of [1, 2]) {
        const shape = { ...square(side, stride), padding: 1, channels: 32 }
        expect(own(shape, 'nChw16c', 'bf16'), `side ${side}, stride ${stride}`).to.deep.equal(expected(side, stride))
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
      [{ channels: 16, filtersAChannel: 2 }, 'nChw16c'],
      [{ channels: 1 }, 'nChw16c']
    ]
    for (const [shape, layout] of others) expect(own(shape, layout), JSON.stringify([shape, layout])).to.deep.equal([])
  })

  it('have the same bits on one thread and on several', () => {
    for (const side of SIDES)
      for (const [layout, channels] of [
        ['nChw16c', 64],
        ['nhwc', 64],
        ['nhwc', 69]
      ] as const)
        for (const stride of [1, 2]) {
          const shape: Shape = { ...square(side, stride), channels }
          const ours = own(shape, layout)
          for (const use of passes(shape).filter(({ name }) => ours.includes(name))) {
            const values = drawn(use.inputs, 'f32', 3)
            const [alone, together] = [1, 4].map((threads): Values => withBound(use, layout, threads, (bound) => bound.run(values).outputs))
            expect(together, `${use.name}, side ${side}, stride ${stride}, ${layout}`).to.deep.equal(alone)
          }
        }
  })
})
