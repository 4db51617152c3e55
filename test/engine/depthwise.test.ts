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
const own = (shape: Shape, layout: string): string[] => runByOurs(passes(shape), layout)

describe('depthwise convolutions of 3x3', () => {
  it('have kernels of our own where channels fill registers, with padding below 3 and stride 1, or 2 but for the weights', () => {
    for (const stride of [1, 2])
      for (const padding of [0, 1, 2]) {
        const shape = { stride: [stride, stride], padding } as const
        const expected = stride === 1 ? ['forward', 'data', 'weights'] : ['forward', 'data']
        expect(own({ ...shape, channels: 32 }, 'nChw16c')).to.deep.equal(expected)
        expect(own({ ...shape, channels: 21 }, 'nChw16c')).to.deep.equal(expected)
        expect(own({ ...shape, channels: 48 }, 'nhwc')).to.deep.equal(expected)
      }
  })

  it('are left to oneDNN in other shapes and layouts', () => {
    const others: (readonly [Shape, string])[] = [
      [{ channels: 16 }, 'plain'],
      [{ channels: 21 }, 'nhwc'],
      [{ channels: 16, stride: [2, 1] }, 'nChw16c'],
      [{ channels: 16, stride: [3, 3] }, 'nChw16c'],
      [{ channels: 16, padding: 3 }, 'nChw16c'],
      [{ channels: 16, kernel: [5, 5], padding: 2 }, 'nChw16c'],
      [{ channels: 16, kernel: [3, 1] }, 'nChw16c'],
      [{ channels: 16, filtersAChannel: 2 }, 'nChw16c'],
      [{ channels: 1 }, 'nChw16c']
    ]
    for (const [shape, layout] of others) expect(own(shape, layout), JSON.stringify([shape, layout])).to.deep.equal([])
  })

  it('have the same bits on one thread and on several', () => {
    for (const layout of ['nChw16c', 'nhwc'])
      for (const stride of [1, 2]) {
        const shape: Shape = { channels: 64, stride: [stride, stride] }
        const ours = own(shape, layout)
        for (const use of passes(shape).filter(({ name }) => ours.includes(name))) {
          const values = drawn(use.inputs, 'f32', 3)
          const [alone, together] = [1, 4].map((threads): Values => withBound(use, layout, threads, (bound) => bound.run(values).outputs))
          expect(together, `${use.name}, stride ${stride}, ${layout}`).to.deep.equal(alone)
        }
      }
  })
})
