import { expect } from 'chai'
import { shareOf } from '../../examples/curriculum/learner.js'
import { easiestFirst, teach } from '../../examples/curriculum/teach.js'
import { distil } from '../../examples/distillation/distil.js'
import { distillationLoss } from '../../examples/distillation/learner.js'
import { evolve } from '../../examples/evolution/evolve.js'
import type { StoredDataset } from '../../src/data/dataset.js'
import { openDataset } from '../../src/data/open.js'

describe('the examples', () => {
  let data: StoredDataset
  before(async () => (data = await openDataset('digits', { samples: 2000 })))

  describe('distillation', () => {
    it('has the gradient of its loss', () => {
      const logits = Float32Array.of(1, -2, 0.5, 0.3, 0.1, 2)
      const advice = Float32Array.of(2, 0, -1, -1, 3, 1)
      const labels = Int32Array.of(0, 2)
      for (const options of [
        { temperature: 1, share: 0 },
        { temperature: 3, share: 1 },
        { temperature: 2, share: 0.6 }
      ]) {
        const { gradient } = distillationLoss(logits, advice, labels, options)
        for (const i of logits.keys()) {
          const at = (by: number) => distillationLoss(logits.with(i, logits[i]! + by), advice, labels, options).loss
          expect(gradient[i], `${i}`).to.be.closeTo((at(1e-3) - at(-1e-3)) / 2e-3, 1e-3)
        }
      }
    })

    it('teaches a linear model what a LeNet knows', async () => {
      const { teacher, student } = await distil(data)
      expect(teacher.testAccuracy).to.be.greaterThan(0.8)
      expect(student.testAccuracy).to.be.greaterThan(0.75)
      expect(student.iterations).to.be.greaterThan(0)
    })
  })

  describe('a curriculum', () => {
    it('begins with the easy samples and ends with all', () => {
      const shares = [0, 0.25, 0.5, 1].map((done) => shareOf(done, { first: 0.25, complete: 0.5 }))
      expect(shares).to.deep.equal([0.25, 0.625, 1, 1])
      expect([...easiestFirst(Float32Array.of(0, 5, 3, 0, 0, 1), Int32Array.of(0, 0, 1))]).to.deep.equal([1, 2, 0])
    })

    it('teaches a LeNet', async () => {
      const { order, finished } = await teach(data)
      expect([...order].sort((a, b) => a - b)).to.deep.equal(Array.from({ length: data.train.count }, (_, i) => i))
      expect(finished.testAccuracy).to.be.greaterThan(0.8)
    })
  })

  describe('evolution', () => {
    it('replaces a learner that lags by one with a better rate', async () => {
      const { finished, lost, rates } = await evolve(data, [0.1, 0.4])
      expect(lost.length).to.be.greaterThan(0)
      expect(lost[0]!.reason).to.match(/^Error: learner 1 lags: loss [\d.]+ at rate 0.4 /)
      for (const rate of rates) expect(rate).within(0.02, 0.2)
      expect(finished.reason).to.equal('completed')
      expect(finished.testAccuracy).to.be.greaterThan(0.6)
    })
  })
})
