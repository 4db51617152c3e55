import { expect } from 'chai'
import { engine } from '../../src/engine/native.js'
import { skip } from '../support/skip.js'
import { BoundOperator } from './support/bound-operator.js'
import { activation, drawn, rounded, wide, type OperatorCase } from './support/operator-case.js'

interface Weights {
  readonly filters: number
  readonly channels: number
  readonly kernel?: number
}

const LAYOUT = 'ABcd16b16a'

/** Copies weights of a convolution into pairs, once on one thread and once on several. */
function copies({ filters, channels, kernel = 3 }: Weights, layout: string) {
  return copied([filters, channels, kernel, kernel], LAYOUT, layout)
}

function copied(shape: readonly number[], from: string, layout: string) {
  const use: OperatorCase = {
    kind: 'reorder',
    name: layout,
    attributes: {},
    inputs: { w: wide(...shape) },
    outputs: { pairs: activation(...shape) }
  }
  const values = drawn(use.inputs, 'f32', 5)
  // What bfloat16 does not hold or rounds at a tie.
  values.w!.set([NaN, Infinity, -0, 1 + 2 ** -8, 1 + 3 * 2 ** -8, -3.4e38])
  const expected = values.w!.map((value) => rounded(value, 'bf16'))
  return [1, 4].map((threads) => {
    const bound = new BoundOperator('cpu', 'bf16', use, { layouts: { w: from, pairs: layout }, threads })
    try {
      return { by: bound.answer.implementation, expected, ...bound.run(values) }
    } finally {
      bound.release()
    }
  })
}

describe('the copies of weights in bfloat16', () => {
  before(function () {
    const cpu = engine.describe().backends.find(({ name }) => name === 'cpu')
    if (cpu?.precisions.includes('bf16') !== true) skip(this, 'this processor has no bfloat16')
  })

  const ORDERS: readonly (readonly [string, Weights])[] = [
    ['AcdB16b32a2b', { filters: 64, channels: 96 }],
    ['AcdB16b64a2b', { filters: 128, channels: 32, kernel: 1 }],
    ['AcdB16b16a2b', { filters: 48, channels: 64 }],
    ['AcdB32a2b', { filters: 64, channels: 16 }],
    ['AcdB16a2b', { filters: 16, channels: 48, kernel: 5 }],
    ['ABcd8b16a2b', { filters: 48, channels: 80 }],
    ['ABcd16b16a2b', { filters: 32, channels: 64 }],
    ['ABcd16a16b2a', { filters: 64, channels: 48 }],
    ['ABcd16a16b2a', { filters: 48, channels: 32 }],
    ['ABcd16a16b2a', { filters: 16, channels: 16 }],
    ['ABcd8a16b2a', { filters: 48, channels: 32, kernel: 1 }]
  ]
  for (const [layout, weights] of ORDERS) {
    it(`are the weights, rounded to the nearest: ${layout} of ${weights.filters} filters`, () => {
      for (const { by, expected, outputs, faults } of copies(weights, layout)) {
        expect(by).to.match(/^own:/)
        expect(outputs.pairs).to.deep.equal(expected)
        expect(faults).to.deep.equal([])
      }
    })
  }

  const BLOCKS: readonly (readonly [string, readonly [outputs: number, features: number]])[] = [
    ['AB8b64a2b', [128, 64]],
    ['AB8b64a2b', [500, 801]],
    ['AB8b16a2b', [10, 48]],
    ['AB16b64a2b', [65, 129]],
    ['AB16b16a2b', [3, 5]]
  ]
  for (const [layout, [outputs, features]] of BLOCKS) {
    it(`are the weights of a linear layer, rounded to the nearest: ${layout} of ${outputs} outputs and ${features} features`, () => {
      for (const { by, expected, outputs: written, faults } of copied([outputs, features], 'plain', layout)) {
        expect(by).to.match(/^own:/)
        expect(written.pairs).to.deep.equal(expected)
        expect(faults).to.deep.equal([])
      }
    })
  }

  it('are left to oneDNN in other orders and where blocks are not filled', () => {
    const others: readonly (readonly [string, Weights])[] = [
      ['AcdB16b32a2b', { filters: 48, channels: 64 }],
      ['AcdB16b32a2b', { filters: 64, channels: 48 }],
      ['AcdB16a2b', { filters: 16, channels: 20 }],
      ['ABcd8a16b2a', { filters: 20, channels: 16 }],
      ['ABcd4b16a4b', { filters: 32, channels: 32 }],
      ['nhwc', { filters: 32, channels: 32 }]
    ]
    for (const { by, expected, outputs } of copied([64, 64], 'plain', 'AB4b64a4b')) {
      expect(by).not.to.match(/^own:/)
      expect(outputs.pairs).to.deep.equal(expected)
    }
    for (const [layout, weights] of others)
      for (const { by, expected, outputs } of copies(weights, layout)) {
        expect(by, layout).not.to.match(/^own:/)
        expect(outputs.pairs, layout).to.deep.equal(expected)
      }
  })
})
