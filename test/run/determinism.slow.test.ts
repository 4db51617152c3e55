import { expect } from 'chai'
import { openDataset } from '../../src/index.js'
import { hashesOf } from './support/same-seed.js'

describe('the same seed, time and again', function () {
  this.timeout(600_000)

  for (const learners of [1, 2, 3])
    it(`gives the same weights twenty times with ${learners} learners, ten of them beside a busy neighbour`, async () => {
      const data = await openDataset('digits', { samples: 1000 })
      const hashes = await hashesOf({ model: 'lenet', data, batch: 8, learners, seed: 42, until: { steps: 30 } }, 10)
      expect(new Set(hashes)).to.have.property('size', 1)
    })
})
