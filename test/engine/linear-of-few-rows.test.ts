import { expect } from 'chai'
import { engine } from '../../src/engine/native.js'
import { skip } from '../support/skip.js'
import { activation, drawn, wide, type OperatorCase, type Values } from './support/operator-case.js'
import { runByOurs, withBound } from './support/own-kernels.js'

const layer = (rows: readonly number[], features: number, outputs: number): OperatorCase => ({
  kind: 'linear',
  name: `${rows.join(' x ')} rows`,
  attributes: { relu: 0 },
  inputs: { x: activation(...rows, features), w: wide(outputs, features), b: wide(outputs) },
  outputs: { y: activation(...rows, outputs) }
})

/** The gradient of its weights. */
const weightsOf = ({ name, inputs: { x, w, b }, outputs: { y } }: OperatorCase): OperatorCase => ({
  kind: 'linearBackwardWeights',
  name: `${name}, backward`,
  attributes: {},
  inputs: { x: x!, gy: y! },
  outputs: { gw: w!, gb: b! }
})

describe('linear layers of few rows', () => {
  before(function () {
    const { backends } = engine.describe()
    if (!backends.some(({ name, available }) => name === 'cpu' && available)) skip(this, 'there is no CPU backend')
    if (runByOurs([layer([1], 16, 16)], 'plain').length === 0) skip(this, 'the kernels of this processor have none')
  })

  it('have kernels of our own, and those of many rows have not', () => {
    const withGradients = (layers: readonly OperatorCase[]): OperatorCase[] => layers.flatMap((one) => [one, weightsOf(one)])
    const few = withGradients([layer([1], 3, 2), layer([16], 784, 256), layer([32], 100, 10), layer([2, 16], 64, 64)])
    expect(runByOurs(few, 'plain')).to.deep.equal(few.map(({ name }) => name))
    expect(runByOurs(withGradients([layer([33], 100, 10), layer([3, 16], 64, 64)]), 'plain')).to.deep.equal([])
  })

  it('have the same bits on one thread and on several', () => {
    for (const use of [3, 16, 31].map((rows) => layer([rows], 801, 501)).flatMap((one) => [one, weightsOf(one)])) {
      const values = drawn(use.inputs, 'f32', 3)
      const [alone, together] = [1, 4].map((threads): Values => withBound(use, 'plain', threads, (bound) => bound.run(values).outputs))
      expect(together, use.name).to.deep.equal(alone)
    }
  })
})
