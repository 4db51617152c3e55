import { expect } from 'chai'
import { Draws, permuted, sampleAt } from '../../src/data/order.js'
import { keyOf } from '../../src/model/philox.js'
import { loaded, type LoadAttributes } from '../engine/support/load-oracle.js'

const SHUFFLED: LoadAttributes = { padding: 0, flip: 0, shuffled: 1, mean: [], deviation: [] }

describe('The order of samples that stream', () => {
  it('is that of samples in memory', () => {
    for (const count of [1, 2, 37, 1000]) {
      const data = { count, sample: [1], samples: new Uint8Array(count) }
      for (const seed of [0, 7, 2 ** 40 + 3])
        for (const position of [0, 1, count - 1, count, 5 * count + 3, 10 ** 6])
          expect(sampleAt(keyOf(seed), position, count)).to.equal(loaded(data, SHUFFLED, seed, position).index)
    }
  })

  it('takes every sample once an epoch, in another order each', () => {
    const epoch = (number: number) => Array.from({ length: 100 }, (_, place) => permuted(keyOf(3), number, place, 100))
    for (const number of [0, 1, 2 ** 25])
      expect(epoch(number).sort((a, b) => a - b)).to.deep.equal(Array.from({ length: 100 }, (_, i) => i))
    expect(epoch(0)).to.not.deep.equal(epoch(1))
    expect(epoch(0)).to.not.deep.equal(epoch(2 ** 25))
  })
})

describe('The random numbers of a sample', () => {
  it('depend on its seed, its position and what they are for, and lie in [0, 1)', () => {
    const four = (seed: number, position: number, which: number) => new Draws(keyOf(seed), position).four(which)
    expect(four(1, 5, 0)).to.deep.equal(four(1, 5, 0))
    const others = [four(2, 5, 0), four(1, 6, 0), four(1, 5, 1), four(1, 5 + 2 ** 32, 0), four(1 + 2 ** 32, 5, 0)]
    for (const other of others) expect(other).to.not.deep.equal(four(1, 5, 0))
    for (const draws of others) for (const draw of draws) expect(draw).to.be.within(0, 1 - 2 ** -33)
  })
})
