import { expect } from 'chai'
import { openDataset, train, type Dataset, type TrainOptions } from '../../src/index.js'
import { hashesOf } from './support/same-seed.js'

/** Runs alone, and as many beside a busy neighbour. The slow test has more. */
const RUNS = 1

describe('the same seed', () => {
  let data: Dataset
  before(async () => {
    data = await openDataset('digits', { samples: 300 })
  })

  const options = (learners: number, seed = 42): TrainOptions => ({ model: 'lenet', data, batch: 8, learners, seed, until: { steps: 30 } })

  for (const learners of [1, 2, 3])
    it(`gives the same weights with ${learners} learners, beside a busy neighbour too, and another seed others`, async () => {
      const hashes = await hashesOf(options(learners), RUNS)
      expect(new Set(hashes)).to.have.property('size', 1)
      expect((await train(options(learners, 43)).finished).weightsSha256).to.not.equal(hashes[0])
    })

  const others: Record<string, Partial<TrainOptions>> = {
    'gradients in buckets': { synchroniser: 'ssgd' },
    'gradients whose norm is needed first': { synchroniser: 'ssgd', optimiser: { name: 'lars', clipNorm: 1 } },
    'an outer step': { synchroniser: { name: 'diloco', period: 3 }, optimiser: 'adamw' },
    'a mean over rounds': { synchroniser: 'polyak-ruppert', average: 'ema' }
  }
  for (const [what, more] of Object.entries(others))
    it(`gives the same weights with ${what}, beside a busy neighbour too`, async () => {
      expect(new Set(await hashesOf({ ...options(3), ...more }, RUNS))).to.have.property('size', 1)
    })
})
