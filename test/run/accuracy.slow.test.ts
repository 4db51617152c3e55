import { expect } from 'chai'
import { train, type TrainOptions } from '../../src/index.js'
import { requireData } from '../support/data.js'

/** Two learners, half of the epochs that are LeNet's by default, and everything else by default. */
const OPTIONS: TrainOptions = { model: 'lenet', learners: 2, until: { epochs: 2 } }

describe('LeNet after two epochs with two learners', function () {
  this.timeout(10 * 60 * 1000)

  it('is right on 97% of the generated digits', async () => {
    expect((await train({ ...OPTIONS, data: 'digits' }).finished).testAccuracy).to.be.at.least(0.97)
  })

  for (const [name, accuracy] of [
    ['mnist', 0.985],
    ['fashion-mnist', 0.86]
  ] as const)
    it(`is right on ${100 * accuracy}% of ${name}`, async function () {
      const job = train({ ...OPTIONS, data: name, dataDir: requireData(this, name) })
      expect((await job.finished).testAccuracy).to.be.at.least(accuracy)
    })
})
