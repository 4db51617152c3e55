import { expect } from 'chai'
import { engine } from '../../src/engine/native.js'
import { skip } from '../support/skip.js'
import { passes as passesOf, type ConvolutionShape } from './support/convolution-shapes.js'
import { drawn, type OperatorCase, type Values } from './support/operator-case.js'
import { runByOurs, withBound } from './support/own-kernels.js'

type Shape = Partial<Omit<ConvolutionShape, 'width' | 'height'>> & { readonly side?: number }

/** A convolution of square images, and its gradients. */
const passes = ({ side = 28, ...shape }: Shape): OperatorCase[] =>
  passesOf({ channels: 3, filters: 20, kernel: 5, padding: 0, images: 2, width: side, height: side, ...shape })

const PASSES = ['forward', 'data', 'weights']

describe('convolutions in planes', () => {
  before(function () {
    const { backends } = engine.describe()
    if (!backends.some(({ name, available }) => name === 'cpu' && available)) skip(this, 'there is no CPU backend')
    if (runByOurs(passes({}), 'plain').length === 0) skip(this, 'the kernels of this processor have none')
  })

  it('have kernels of our own where rows of outputs fill pieces of registers and filters do not fill blocks', () => {
    const taken: Shape[] = [
      {},
      { channels: 1 },
      { channels: 20, filters: 50, side: 12 },
      { filters: 7, side: 10, kernel: 3 },
      { side: 8, kernel: 1 }
    ]
    for (const shape of taken) expect(runByOurs(passes(shape), 'plain'), JSON.stringify(shape)).to.deep.equal(PASSES)
  })

  it('are left to others in other shapes and layouts', () => {
    const others: (readonly [Shape, string])[] = [
      [{}, 'nhwc'],
      [{ filters: 32 }, 'plain'],
      [{ side: 30 }, 'plain'],
      [{ padding: 2 }, 'plain'],
      [{ side: 19, stride: 2 }, 'plain'],
      [{ channels: 20, groups: 20 }, 'plain']
    ]
    for (const [shape, layout] of others)
      expect(runByOurs(passes(shape), layout), `${JSON.stringify(shape)} ${layout}`).not.to.include('forward')
  })

  it('have the same bits on one thread and on several', () => {
    for (const pass of passes({ channels: 6, filters: 19, images: 5 })) {
      const values = drawn(pass.inputs, 'f32', 7)
      const [alone, together] = [1, 4].map((threads): Values => withBound(pass, 'plain', threads, (bound) => bound.run(values).outputs))
      expect(together, pass.name).to.deep.equal(alone)
    }
  })
})
