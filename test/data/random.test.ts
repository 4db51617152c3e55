import { expect } from 'chai'
import { Draws, permuted, Random, sampleAt } from '../../src/data/random.js'
import { keyOf } from '../../src/model/philox.js'
import { loaded, type LoadAttributes } from '../engine/support/load-oracle.js'

function bits(random: Random, count: number): number[] {
  return Array.from({ length: count }, () => random.bits())
}

describe('random numbers for data', () => {
  it('are a function of seed and path', () => {
    expect(bits(new Random(7, 1, 2), 5)).to.deep.equal(bits(new Random(7, 1, 2), 5))
    const streams = [
      [7, 1, 2],
      [7, 2, 1],
      [8, 1, 2],
      [7, 1],
      [7 + 2 ** 32, 1, 2],
      [7, 1, 3]
    ] as const
    const firsts = new Set(streams.map(([seed, ...path]) => bits(new Random(seed, ...path), 2).join()))
    expect(firsts.size).to.equal(streams.length)
  })

  it('are evenly spread over neighbouring streams', () => {
    const counts = new Int32Array(16)
    for (let stream = 0; stream < 16_000; stream++) counts[new Random(0, stream).below(16)]!++
    // Chi-squared with 15 degrees of freedom: above 37.7 in one of a thousand fair draws; this draw is fixed.
    const squared = counts.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0)
    expect(squared).to.be.below(37.7)
  })

  it('have the range, mean and std that they promise', () => {
    const random = new Random(3)
    const drawn = Array.from({ length: 20_000 }, () => ({ flat: random.between(-1, 3), bell: random.normal(2) }))
    expect(Math.min(...drawn.map(({ flat }) => flat))).to.be.within(-1, -0.99)
    expect(Math.max(...drawn.map(({ flat }) => flat))).to.be.within(2.99, 3)
    const mean = drawn.reduce((sum, { bell }) => sum + bell, 0) / drawn.length
    const variance = drawn.reduce((sum, { bell }) => sum + bell ** 2, 0) / drawn.length
    expect(mean).to.be.closeTo(0, 0.06)
    expect(Math.sqrt(variance)).to.be.closeTo(2, 0.05)
    expect(drawn.every(({ bell }) => Math.abs(bell) <= 7)).to.equal(true)
  })

  it('shuffle without losing anything', () => {
    const shuffled = new Random(1).shuffle(Int32Array.from({ length: 1000 }, (_, i) => i))
    expect(shuffled.some((value, i) => value !== i)).to.equal(true)
    expect([...shuffled].sort((a, b) => a - b)).to.deep.equal(Array.from({ length: 1000 }, (_, i) => i))
  })
})

const SHUFFLED: LoadAttributes = { padding: 0, border: 0, flip: 0, shuffled: 1, mean: [], std: [] }

describe('The order of streamed samples', () => {
  it('is the same as for samples in memory', () => {
    for (const count of [1, 2, 37, 1000]) {
      const data = { count, sample: [1], samples: new Uint8Array(count) }
      for (const seed of [0, 7, 2 ** 40 + 3])
        for (const position of [0, 1, count - 1, count, 5 * count + 3, 10 ** 6])
          expect(sampleAt(keyOf(seed), position, count)).to.equal(loaded(data, SHUFFLED, seed, position).index)
    }
  })

  it('takes every sample once per epoch, in another order in each', () => {
    const epoch = (number: number) => Array.from({ length: 100 }, (_, place) => permuted(keyOf(3), number, place, 100))
    for (const number of [0, 1, 2 ** 25])
      expect(epoch(number).sort((a, b) => a - b)).to.deep.equal(Array.from({ length: 100 }, (_, i) => i))
    expect(epoch(0)).to.not.deep.equal(epoch(1))
    expect(epoch(0)).to.not.deep.equal(epoch(2 ** 25))
  })
})

describe('The random numbers of a sample', () => {
  it('depend on seed, position and index, and lie in [0, 1)', () => {
    const four = (seed: number, position: number, which: number) => new Draws(keyOf(seed), position).four(which)
    expect(four(1, 5, 0)).to.deep.equal(four(1, 5, 0))
    const others = [four(2, 5, 0), four(1, 6, 0), four(1, 5, 1), four(1, 5 + 2 ** 32, 0), four(1 + 2 ** 32, 5, 0)]
    for (const other of others) expect(other).to.not.deep.equal(four(1, 5, 0))
    for (const draws of others) for (const draw of draws) expect(draw).to.be.within(0, 1 - 2 ** -33)
  })
})
