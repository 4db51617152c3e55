import { expect } from 'chai'
import { casesIn, chosenCores, simulate } from '../growth.js'
import { roundSeconds, type MeasuredStep } from '../many-cores.js'

describe('The growth bench', () => {
  it('doubles the cores up to all of them, or takes those that are named', () => {
    expect(chosenCores([], 1)).to.deep.equal([1])
    expect(chosenCores([], 2)).to.deep.equal([1, 2])
    expect(chosenCores([], 6)).to.deep.equal([1, 2, 4, 6])
    expect(chosenCores([3], 6)).to.deep.equal([3])
    expect(() => chosenCores([1, 7], 6))
      .to.throw(/received "c7"; this process may use 6/)
      .with.property('code', 'INVALID_OPTION')
  })

  it('refuses words that are no number of cores, and no case', () => {
    expect(casesIn(['lenet', 'k1', 'c2', 's64']).map(({ name }) => name)).to.deep.equal(['lenet b16 k1 f32'])
    for (const word of ['c0', 'c2x', 's-1'])
      expect(() => casesIn(['lenet', word]))
        .to.throw(`received "${word}"`)
        .with.property('code', 'UNKNOWN_NAME')
  })
})

describe('The cost model of many cores', () => {
  const step: MeasuredStep = { seconds: 0.004, memoryBytes: 0, weightBytes: 1e6, coreBytesPerSecond: 1e10 }
  const rate = (learners: number, host = { cores: 64, memoryBytesPerSecond: 4e11 }, one = step): number =>
    learners / roundSeconds(learners, one, host)

  it('gives each learner a core as long as there are cores, and averages with all of them', () => {
    // (2 + 2) MB on one core, (128 + 2) MB on 64 of them, which the memory bounds at 40.
    expect(roundSeconds(1, step, { cores: 64, memoryBytesPerSecond: 4e11 })).to.be.closeTo(0.004 + 4e6 / 1e10, 1e-12)
    expect(roundSeconds(64, step, { cores: 64, memoryBytesPerSecond: 4e11 })).to.be.closeTo(0.004 + 130e6 / 4e11, 1e-12)
  })

  it('is of images a second, and of the tokens of texts', () => {
    const host = { cores: 64, memoryBytesPerSecond: 4e11 }
    const [images, tokens] = simulate(casesIn(['lenet', 'gpt', 'k1']), step, host)
    expect(images).to.include({ unit: 'images/s', value: 16 / roundSeconds(1, step, host) })
    expect(tokens).to.include({ unit: 'tokens/s', value: (16 * 128) / roundSeconds(1, step, host) })
  })

  it('gives no more by learners that have no core of their own', () => {
    expect(rate(128)).to.be.closeTo(rate(64), rate(64) * 0.01)
    expect(rate(64)).to.be.greaterThan(60 * rate(1))
  })

  it('is bound by the memory where a step does not fit into the caches', () => {
    const large = { ...step, memoryBytes: 4e7 }
    expect(rate(64, undefined, large)).to.be.lessThan(4e11 / 4e7)
    expect(rate(64, undefined, large)).to.be.greaterThan(0.9 * (4e11 / 4e7))
  })
})
