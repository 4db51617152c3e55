import { expect } from 'chai'
import type { Dataset } from '../../src/data/dataset.js'
import { openDataset } from '../../src/data/open.js'
import { WAYS_TO_DIE, type WayToDie } from '../fakes/dying-learner.js'
import { killedJob } from './support/killed-job.js'

const REASONS: Readonly<Record<WayToDie, RegExp>> = {
  throw: /^RangeError: learner: told to throw \(at .*dying-learner\.[jt]s:\d+\)$/,
  reject: /^RangeError: learner: told to reject \(at .*dying-learner\.[jt]s:\d+\)$/,
  exit: /^learner 1: its thread ended with code 7$/,
  heap: /heap out of memory/,
  terminate: /^learner 1: its thread ended with code 1$/,
  poll: /^learner 1: no step within 1000 ms/,
  spin: /^learner 1: no step within 1000 ms/
}

describe('a training job whose learner dies', () => {
  let data: Dataset
  before(async () => (data = await openDataset('digits', { samples: 1000 })))

  for (const how of WAYS_TO_DIE) {
    it(`goes on with another in its place when one dies by ${how}`, async () => {
      const { finished, lost } = await killedJob(data, { how, victim: 1, after: 40 })
      expect(lost).to.have.length(1)
      const [{ reason, learner, rank, replacedBy, iteration }] = lost as [(typeof lost)[0]]
      expect(reason).to.match(REASONS[how])
      expect([learner, rank, replacedBy]).to.deep.equal([1, 1, 2])
      expect(iteration).within(39, 41)
      expect(finished).to.include({ reason: 'completed', iterations: 150, learners: 2 })
      expect(finished.testAccuracy).to.be.greaterThan(0.6)
    })
  }

  it('goes on where it is the only one, and where it dies before its first step', async () => {
    const alone = await killedJob(data, { how: 'exit', victim: 0, after: 70 }, { learners: 1, synchroniser: { period: 4 } })
    expect(alone.lost.map(({ replacedBy }) => replacedBy)).to.deep.equal([1])
    expect(alone.finished).to.include({ iterations: 150 })
    expect(alone.finished.testAccuracy).to.be.greaterThan(0.6)
    const atBirth = await killedJob(data, { how: 'throw', victim: 0, after: 0 })
    expect(atBirth.lost.map(({ iteration, replacedBy }) => [iteration, replacedBy])).to.deep.equal([[0, 2]])
    expect(atBirth.finished).to.include({ iterations: 150 })
  })
})
