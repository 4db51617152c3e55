import { expect } from 'chai'
import { distinctions } from '../../src/observe/run-differences.js'

describe('what tells runs apart', () => {
  const base = { model: 'lenet', learners: 2, seed: 1, logDir: 'a', synchroniser: { name: 'sma', options: { period: 1 } } }
  const told = (...options: readonly object[]) => distinctions(options.map((each) => ({ options: { ...base, ...each } })))

  it('is told by what people compare first, in few words', () => {
    expect(
      told(
        { optimiser: { learningRate: { learningRate: 0.1 } }, learners: 4 },
        { optimiser: { learningRate: { learningRate: 0.2 } }, seed: 2, batch: 8 }
      )
    ).to.deep.equal(['4 learners, rate 0.1', '2 learners, batch 8, rate 0.2'])
  })

  it('is a rule by its name alone, whose options are its own', () => {
    expect(told({}, { synchroniser: { name: 'diloco', options: { period: 500 } } })).to.deep.equal(['sma', 'diloco'])
    expect(told({}, { synchroniser: { name: 'sma', options: { period: 4 } } })).to.deep.equal(['period 1', 'period 4'])
  })

  it('is not where runs are recorded, and nothing between equal runs', () => {
    expect(told({}, { logDir: 'b', metricsPort: 9464, checkpoint: { dir: 'c' } })).to.deep.equal(['', ''])
    expect(distinctions([])).to.deep.equal([])
  })
})
