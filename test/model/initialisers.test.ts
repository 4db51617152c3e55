import { expect } from 'chai'
import { buildGraph } from '../../src/model/graph-builder.js'
import { initialParameters } from '../../src/model/initialise.js'
import { conv2d, defineModel, globalAvgPool, linear } from '../../src/model/layers.js'
import type { Layer } from '../../src/model/layer.js'
import type { WeightInitialiser } from '../../src/model/initialisers.js'
import { refused } from '../support/codes.js'

const graphOf = (...layers: readonly Layer[]) =>
  buildGraph(defineModel({ name: 'test', input: [32, 4, 4], layers: [...layers, globalAvgPool(), linear(2)] }), {
    batch: 2,
    mode: 'predict'
  })

/** The first values of a convolution of 32 to 64 channels, 3 by 3: fan-in 288, fan-out 576. */
function drawn(initialiser?: WeightInitialiser): Float32Array {
  const graph = graphOf(conv2d(64, 3, { bias: false, ...(initialiser && { initialiser }) }))
  return initialParameters(graph, 1).subarray(0, 64 * 288)
}

function moments(values: Float32Array): { mean: number; std: number; least: number; most: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const std = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)
  return { mean, std, least: Math.min(...values), most: Math.max(...values) }
}

describe('initialisers', () => {
  const rows: [WeightInitialiser, number, number][] = [
    ['kaimingUniform', 0, 1 / Math.sqrt(3 * 288)],
    ['xavierUniform', 0, Math.sqrt(2 / (288 + 576))],
    ['xavierNormal', 0, Math.sqrt(2 / (288 + 576))],
    [{ kind: 'xavierNormal', gain: 5 / 3 }, 0, (5 / 3) * Math.sqrt(2 / (288 + 576))],
    ['heUniform', 0, Math.sqrt(2 / 576)],
    ['heNormal', 0, Math.sqrt(2 / 576)],
    [{ kind: 'heNormal', fan: 'in' }, 0, Math.sqrt(2 / 288)],
    [{ kind: 'heUniform', fan: 'in', slope: Math.sqrt(5) }, 0, 1 / Math.sqrt(3 * 288)],
    [{ kind: 'uniform', low: 1, high: 3 }, 2, 1 / Math.sqrt(3)],
    [{ kind: 'normal', std: 0.02 }, 0, 0.02],
    [{ kind: 'normal', std: 0.5, mean: -3 }, -3, 0.5],
    // Of a normal distribution cut off at two deviations.
    [{ kind: 'truncatedNormal', std: 0.02, mean: 1 }, 1, 0.02 * 0.87962566],
    [{ kind: 'constant', value: 0.25 }, 0.25, 0]
  ]
  for (const [initialiser, mean, std] of rows)
    it(`${JSON.stringify(initialiser)} has its mean and std`, () => {
      const found = moments(drawn(initialiser))
      expect(found.mean).to.be.closeTo(mean, (4 * std) / Math.sqrt(64 * 288) + 1e-7)
      expect(found.std).to.be.closeTo(std, 0.02 * std)
    })

  it('keep uniform numbers within their bounds, and truncated ones', () => {
    const uniform = moments(drawn({ kind: 'uniform', low: 1, high: 3 }))
    expect([uniform.least, uniform.most].map((value) => value >= 1 && value <= 3)).to.deep.equal([true, true])
    const { least, most } = moments(drawn({ kind: 'truncatedNormal', std: 2, bound: 0.5 }))
    expect(least).to.be.within(-1, -0.99)
    expect(most).to.be.within(0.99, 1)
  })

  it('count fans as PyTorch does: of a convolution in groups, fan-in is a group’s and fan-out that of all', () => {
    const deviations = (['heNormal', 'xavierNormal', { kind: 'heNormal', fan: 'in' }] as const).map((initialiser) => {
      const graph = graphOf(conv2d(64, 3, { bias: false, groups: 32, initialiser }))
      return moments(initialParameters(graph, 1).subarray(0, 64 * 9)).std
    })
    const expected = [Math.sqrt(2 / (64 * 9)), Math.sqrt(2 / (9 + 64 * 9)), Math.sqrt(2 / 9)]
    for (const [i, std] of deviations.entries()) expect(std / expected[i]!).to.be.closeTo(1, 0.1)
  })

  it('are a layer’s own: other layers keep what they had', () => {
    const usual = initialParameters(graphOf(conv2d(64, 3, { bias: false })), 1)
    const own = initialParameters(graphOf(conv2d(64, 3, { bias: false, initialiser: 'xavierNormal' })), 1)
    expect(own.subarray(64 * 288)).to.deep.equal(usual.subarray(64 * 288))
    expect(own.subarray(0, 8)).not.to.deep.equal(usual.subarray(0, 8))
    expect(drawn()).to.deep.equal(drawn('kaimingUniform'))
  })

  it('set biases', () => {
    const graph = graphOf(conv2d(2, 1, { biasInitialiser: { kind: 'constant', value: 7 } }))
    const values = initialParameters(graph, 1)
    expect([...values.subarray(64, 66)]).to.deep.equal([7, 7])
  })

  it('are refused with the layer, the parameter and the fix', async () => {
    const wrong: [unknown, ...string[]][] = [
      ['glorot', 'glorot', 'xavierUniform'],
      [{ kind: 'constant' }, 'value'],
      [{ kind: 'constant', value: 1e39 }, 'a float holds as its value'],
      [{ kind: 'uniform', low: -1e39, high: 1 }, 'a float holds as its low'],
      [{ kind: 'normal', std: -1 }, 'std'],
      [{ kind: 'normal', sigma: 1 }, 'std, mean'],
      [{ kind: 'uniform', low: 1, high: 1 }, 'low less than high'],
      [{ kind: 'heNormal', fan: 'both' }, 'in or out'],
      [{ kind: 'truncatedNormal', std: 1, bound: 0 }, 'bound']
    ]
    for (const [initialiser, ...words] of wrong)
      await refused(
        'INVALID_MODEL',
        () => graphOf(conv2d(2, 1, { initialiser: initialiser as WeightInitialiser })),
        'layer conv1',
        'initialiser',
        ...words
      )
    await refused('INVALID_MODEL', () => graphOf(conv2d(2, 1, { biasInitialiser: 'heNormal' })), 'biasInitialiser', 'no fan')
  })
})
