import { expect } from 'chai'
import { predictionGraph } from '../../src/model/graph-builder.js'
import { parametersOf, elements } from '../../src/model/graph.js'
import { initialParameters, initialParametersInTurns } from '../../src/model/initialise.js'
import { defineModel, linear } from '../../src/model/layers.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { thrown } from '../support/thrown.js'

const resnet = predictionGraph(modelNamed('resnet20', { input: [3, 32, 32], classes: 10 }))

/** One parameter's slice of the whole vector. */
function slice(values: Float32Array, name: string): Float32Array {
  let offset = 0
  for (const parameter of parametersOf(resnet)) {
    const end = offset + elements(parameter.shape)
    if (parameter.name === name) return values.subarray(offset, end)
    offset = end
  }
  throw new Error(`no parameter ${name}`)
}

describe('initialParameters', () => {
  const values = initialParameters(resnet, 1)

  it('is a function of the seed', () => {
    expect(initialParameters(resnet, 1)).to.deep.equal(values)
    expect(initialParameters(resnet, 2)).not.to.deep.equal(values)
    expect(initialParameters(resnet, 2 ** 32 + 1)).not.to.deep.equal(values)
  })

  it('may be drawn in turns with all else that the thread does, the same bit for bit', async () => {
    const layers = [linear(700, { name: 'wide' }), linear(3)]
    const graph = predictionGraph(defineModel({ name: 'wide', input: [1001], layers }))
    const whole = initialParameters(graph, 5)
    const alike = Buffer.from(whole.buffer)
    let turns = 0
    const beat = setInterval(() => turns++, 0)
    const drawn = await initialParametersInTurns(graph, 5)
    clearInterval(beat)
    expect(Buffer.from(drawn.buffer).equals(alike)).to.equal(true)
    expect(turns).to.be.greaterThan(5)
  })

  it('draws linear layers as PyTorch does: uniform within 1/sqrt(fan-in)', () => {
    const weight = slice(values, 'fc.weight')
    const bound = 1 / 8
    expect(Math.max(...weight)).to.be.within(0.97 * bound, bound)
    expect(Math.min(...weight)).to.be.within(-bound, -0.97 * bound)
    const mean = weight.reduce((sum, value) => sum + value, 0) / weight.length
    expect(Math.abs(mean)).to.be.below((4 * bound) / Math.sqrt(3 * weight.length))
  })

  it("draws the ResNets' convolutions from He's normal distribution with fan-out", () => {
    const weight = slice(values, 'layer3.1.conv1.weight')
    const std = Math.sqrt(weight.reduce((sum, value) => sum + value * value, 0) / weight.length)
    expect(std).to.be.closeTo(Math.sqrt(2 / (9 * 64)), 0.02 * Math.sqrt(2 / (9 * 64)))
    const within = weight.filter((value) => Math.abs(value) < std).length / weight.length
    expect(within).to.be.closeTo(0.6827, 0.01)
  })

  it('starts batch norms as the identity', () => {
    expect(new Set(slice(values, 'bn1.weight'))).to.deep.equal(new Set([1]))
    expect(new Set(slice(values, 'bn1.bias'))).to.deep.equal(new Set([0]))
  })

  it('refuses a seed that is not a whole number', () => {
    for (const seed of [-1, 0.5, NaN, 2 ** 53]) expect(thrown(() => initialParameters(resnet, seed)).code).to.equal('INVALID_OPTION')
  })
})
