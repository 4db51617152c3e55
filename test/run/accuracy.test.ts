import { expect } from 'chai'
import { train, type TrainOptions } from '../../src/index.js'

/** Two learners, half of the epochs that are LeNet's by default, and everything else by default. */
const OPTIONS: TrainOptions = { model: 'lenet', learners: 2, until: { epochs: 2 } }

describe('LeNet after two epochs with two learners', function () {
  this.timeout(120_000)

  it('is right on 97% of the generated digits', async () => {
    expect((await train({ ...OPTIONS, data: 'digits' }).finished).testAccuracy).to.be.at.least(0.97)
  })
})
