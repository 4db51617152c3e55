import { expect } from 'chai'
import { openDataset } from '../../src/data/open.js'
import { vit } from '../../src/model/zoo/index.js'
import { train } from '../../src/run/train.js'
import { requireData } from '../support/data.js'

describe('a small vision transformer on MNIST', function () {
  this.timeout(120_000)

  it('learns to read four of five digits in seconds, which one that has hardly been trained cannot', async function () {
    const data = await openDataset('mnist', { directory: requireData(this, 'mnist') })
    const model = vit({ input: data.sample, classes: data.classes }, { layers: 2, heads: 2, width: 32, patch: 7 })
    const accuracyAfter = async (steps: number) => {
      const optimiser = { name: 'adamw', learningRate: 3e-3, weightDecay: 0.01 } as const
      return (await train({ model, data, learners: 2, batch: 16, optimiser, until: { steps }, seed: 1 }).finished).testAccuracy
    }
    expect(await accuracyAfter(2)).to.be.below(0.3)
    expect(await accuracyAfter(1500)).to.be.above(0.8)
  })
})
