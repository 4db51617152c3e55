import { expect } from 'chai'
import { Random } from '../../src/data/random.js'

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

  it('have the range, mean and deviation that they promise', () => {
    const random = new Random(3)
    const drawn = Array.from({ length: 20_000 }, () => ({ flat: random.between(-1, 3), bell: random.bell(2) }))
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
