import { expect } from 'chai'
import { activation, drawn, positive, wide, type OperatorCase, type Port } from './support/operator-case.js'
import { withBound } from './support/own-kernels.js'

const SIDE = 320
const PIXELS = SIDE * SIDE
const image = activation(1, 16, SIDE, SIDE)
/** A tenth, which no float32 is: its sums are rounded at each addition, and many times alike. */
const equal: Port = { ...image, draw: () => 0.1 }
const ones: Port = { ...image, draw: () => 1 }
const TENTH = Math.fround(0.1)

const gradient = { y: null, gy: equal, gy2: null }
const outputs = { gx: image, ggamma: wide(16), gbeta: wide(16), gresidual: null }

interface Sum {
  readonly output: string
  readonly expected: number
  readonly use: OperatorCase
}

const SUMS: readonly Sum[] = [
  {
    output: 'gbeta',
    expected: PIXELS * TENTH,
    use: {
      kind: 'batchNormBackward',
      name: 'batch norm',
      attributes: { epsilon: 1e-5, relu: 0 },
      inputs: { x: image, gamma: wide(16), mean: wide(16), variance: positive(16), ...gradient },
      outputs
    }
  },
  {
    output: 'gbeta',
    expected: PIXELS * TENTH,
    use: {
      kind: 'groupNormBackward',
      name: 'group norm',
      attributes: { epsilon: 1e-5, relu: 0, groups: 4 },
      inputs: { x: image, gamma: wide(16), mean: wide(1, 4), inverse: positive(1, 4), ...gradient },
      outputs
    }
  },
  {
    output: 'gfactors',
    expected: PIXELS * TENTH,
    use: {
      kind: 'scaleChannelsBackward',
      name: 'channels',
      attributes: {},
      inputs: { x: ones, factors: activation(1, 16), gy: equal },
      outputs: { gx: image, gfactors: activation(1, 16) }
    }
  },
  {
    output: 'gw',
    expected: (SIDE - 2) ** 2 * TENTH,
    use: {
      kind: 'conv2dBackwardWeights',
      name: 'depthwise',
      attributes: { stride: [1, 1], padding: [0, 0], groups: 16 },
      inputs: { x: ones, gy: { ...equal, shape: [1, 16, SIDE - 2, SIDE - 2] } },
      outputs: { gw: wide(16, 1, 3, 3), gb: null }
    }
  },
  {
    output: 'y',
    expected: TENTH,
    use: { kind: 'globalAvgPool', name: 'pool', attributes: {}, inputs: { x: equal }, outputs: { y: activation(1, 16) } }
  }
]

describe('a sum over the pixels of a large image', () => {
  for (const { output, expected, use } of SUMS)
    it(`keeps its digits where all pixels are equal: ${output} of ${use.kind}`, () => {
      const values = drawn(use.inputs, 'f32', 1)
      const found = withBound(use, 'nChw16c', 1, (bound) => bound.run(values).outputs)[output]!
      for (const sum of found) expect(sum / expected).to.be.closeTo(1, 1e-5)
    })
})
