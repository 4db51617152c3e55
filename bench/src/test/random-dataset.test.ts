import { expect } from 'chai'
import { unitsOf, workloadOf } from '../cases.js'
import { randomDataset } from '../random-dataset.js'

describe('randomDataset', () => {
  it('gives texts that have a class tokens up to their end, and a class each', () => {
    const workload = workloadOf('text-classifier')
    const { train, test } = randomDataset(workload)
    for (const { count, sample, samples, labels } of [train, test]) {
      expect(samples).to.have.length(count * sample[0]!)
      expect(Math.min(...samples.slice(0, 10_000))).to.equal(1)
      expect(Math.max(...samples.slice(0, 10_000))).to.equal(workload.tokens! - 1)
      expect(new Set(labels)).to.deep.equal(new Set([0, 1]))
      expect(labels).to.have.length(count)
    }
    expect(unitsOf('text-classifier')).to.deep.equal({ unit: 'tokens', perSample: 256 })
  })

  it('gives a text whose tokens are each followed by their target where texts have no class', () => {
    const { train } = randomDataset(workloadOf('gpt'))
    expect(train.stride).to.equal(128)
    expect(train.labels).to.equal(undefined)
    expect(train.samples).to.have.length(train.count * 128 + 1)
  })
})
