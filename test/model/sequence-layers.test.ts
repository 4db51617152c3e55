import { expect } from 'chai'
import { buildGraph, parameterCount, predictionGraph } from '../../src/model/graph-builder.js'
import { parametersOf } from '../../src/model/graph.js'
import {
  causalSelfAttention,
  defineModel,
  embedding,
  flatten,
  layerNorm,
  linear,
  meanPositions,
  positions,
  selfAttention
} from '../../src/model/layers.js'
import type { Layer } from '../../src/model/layer.js'
import { thrown } from '../support/thrown.js'

const model = (input: readonly number[], ...layers: Layer[]) => defineModel({ name: 'sequence', input, layers })

describe('layers over sequences', () => {
  const small = model(
    [6],
    embedding(11, 8, { name: 'tokens' }),
    positions(),
    layerNorm(),
    linear(24),
    causalSelfAttention(2),
    linear(11, { tied: 'tokens', bias: false })
  )

  it('take tokens and give one class a position', () => {
    const { values, named } = buildGraph(small, { batch: 3, mode: 'train' })
    expect(values[named.input!]).to.include({ type: 'integer' }).and.to.have.deep.property('shape', [3, 6])
    expect(values[named.output!]!.shape).to.deep.equal([3, 6, 11])
    expect(values[named.target!]).to.include({ type: 'integer' }).and.to.have.deep.property('shape', [3, 6])
  })

  it('share one weight where they are tied', () => {
    const names = parametersOf(predictionGraph(small)).map(({ name }) => name)
    expect(names).to.deep.equal(['tokens.weight', 'positions1.weight', 'norm1.weight', 'norm1.bias', 'linear1.weight', 'linear1.bias'])
    expect(parameterCount(small)).to.equal(11 * 8 + 6 * 8 + 2 * 8 + 24 * 9)
  })

  it('keep what only gradients need for training alone', () => {
    const outputs = (mode: 'train' | 'predict') =>
      buildGraph(small, { batch: 1, mode })
        .operators.filter(({ kind }) => kind === 'layerNorm' || kind === 'causalSelfAttention')
        .map((operator) => operator.outputs.filter((id) => id >= 0).length)
    expect(outputs('train')).to.deep.equal([3, 2])
    expect(outputs('predict')).to.deep.equal([1, 1])
  })

  it('know one length for each padding, whichever layers leave it out', () => {
    const layers = [
      embedding(9, 6),
      linear(18),
      selfAttention(2, { padding: 0 }),
      linear(18),
      selfAttention(1, { padding: 0 }),
      meanPositions({ padding: 0 })
    ]
    const { operators } = buildGraph(model([5], ...layers, linear(2)), { batch: 2, mode: 'train' })
    const [lengths, ...more] = operators.filter(({ kind }) => kind === 'lengths')
    expect(more).to.deep.equal([])
    const read = operators.filter(({ inputs }) => inputs.includes(lengths!.outputs[0]!)).map(({ kind }) => kind)
    expect(read).to.deep.equal(['selfAttention', 'selfAttention', 'meanPositions'])
  })

  const refused: readonly [string, number[], Layer[], string, string][] = [
    [
      'an embedding of features',
      [6],
      [linear(3), embedding(4, 2)],
      'SHAPE_MISMATCH',
      'layer embedding1: received input (3); it takes token ids'
    ],
    ['no tokens', [6], [embedding(0, 2)], 'INVALID_MODEL', 'layer embedding1: tokens: received 0'],
    ['attention over features alone', [6], [causalSelfAttention(1)], 'SHAPE_MISMATCH', 'put linear(3 * F) before it'],
    ['attention over what is no triple', [4, 8], [causalSelfAttention(1)], 'SHAPE_MISMATCH', 'received input (4, 8)'],
    ['heads that do not divide', [4, 12], [causalSelfAttention(3)], 'INVALID_MODEL', 'heads: received 3; use a divisor of its 4 features'],
    ['a weight that is not there', [4, 2], [linear(3, { tied: 'tokens' })], 'INVALID_MODEL', 'layer linear1: tied: received "tokens"'],
    [
      'first values of a weight that has them already',
      [4],
      [embedding(5, 4), linear(5, { tied: 'embedding1', initialiser: 'heNormal' })],
      'INVALID_MODEL',
      'layer linear1: initialiser: received "heNormal"; leave it out'
    ],
    ['a weight of another shape', [4], [embedding(5, 2), linear(4, { tied: 'embedding1' })], 'INVALID_MODEL', 'its weight is (5, 2)'],
    ['padding of features', [4, 6], [selfAttention(1, { padding: 0 })], 'INVALID_MODEL', "the model's input is not 4 tokens"],
    [
      'padding behind other positions',
      [4],
      [embedding(5, 3), flatten(), linear(3), selfAttention(1, { padding: 0 })],
      'SHAPE_MISMATCH',
      'linear(3 * F)'
    ],
    ['a padding that is no token', [4], [embedding(5, 3), meanPositions({ padding: -1 })], 'INVALID_MODEL', 'padding: received -1'],
    ['a norm of images', [1, 4, 4], [layerNorm()], 'SHAPE_MISMATCH', 'layer norm1: received input (1, 4, 4)'],
    ['an epsilon of 0', [4], [layerNorm({ epsilon: 0 })], 'INVALID_MODEL', 'layer norm1: epsilon: received 0']
  ]
  for (const [what, input, layers, code, message] of refused)
    it(`refuse ${what}`, () => {
      const error = thrown(() => buildGraph(model(input, ...layers), { batch: 2, mode: 'train' }))
      expect(error.code, error.message).to.equal(code)
      expect(error.message).to.include(message)
    })
})
