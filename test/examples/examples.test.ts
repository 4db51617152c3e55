import { expect } from 'chai'
import { shareOf } from '../../examples/curriculum/learner.js'
import { easiestFirst, teach } from '../../examples/curriculum/teach.js'
import { distil } from '../../examples/distillation/distil.js'
import { distillationLoss } from '../../examples/distillation/learner.js'
import { halveOnPlateau } from '../../examples/plateau/halve.js'
import { breed } from '../../examples/population/breed.js'
import { focus } from '../../examples/focal-loss/focus.js'
import { focalLoss } from '../../examples/focal-loss/learner.js'
import { evolve } from '../../examples/evolution/evolve.js'
import EvolvingLearner, { type Evolution } from '../../examples/evolution/learner.js'
import type { StoredDataset } from '../../src/data/dataset.js'
import { openDataset } from '../../src/data/open.js'
import type { LearnerContext } from '../../src/learner/learner-plugin.js'
import { train } from '../../src/run/train.js'

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

  describe('the focal loss', () => {
    const logits = Float32Array.of(1, -2, 0.5, 0.3, 0.1, 2)
    const labels = Int32Array.of(0, 2)

    it('is what its paper has, and has its gradient', () => {
      const p = [Math.E / (Math.E + Math.exp(-2) + Math.exp(0.5)), Math.exp(2) / (Math.exp(0.3) + Math.exp(0.1) + Math.exp(2))]
      for (const gamma of [0, 1, 2.5]) {
        const { loss, gradient } = focalLoss(logits, labels, gamma)
        expect(loss).to.be.closeTo(
          p.reduce((sum, each) => sum - ((1 - each) ** gamma * Math.log(each)) / 2, 0),
          1e-6
        )
        for (const i of logits.keys()) {
          const at = (by: number) => focalLoss(logits.with(i, logits[i]! + by), labels, gamma).loss
          expect(gradient[i], `${i}`).to.be.closeTo((at(1e-3) - at(-1e-3)) / 2e-3, 1e-3)
        }
      }
    })

    it('teaches a LeNet', async () => {
      const { testAccuracy } = await focus(data)
      expect(testAccuracy).to.be.greaterThan(0.8)
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

    it('replaces none whose loss differs by chance', async () => {
      const lags = async (loss: number) => {
        const board = new SharedArrayBuffer(32)
        new Float64Array(board).set([0.1, 0.03, 0.1, 0])
        const options = { board, rates: [0.1, 0.1], stride: 20, patience: 1, margin: 1.5, noise: 0.1 }
        const replica = { learningRate: 0.1, run: (steps: number) => ({ lossSum: loss * steps, steps }) }
        const learner = new EvolvingLearner({ options, replica, rank: 1, learner: 1, learners: 2 } as unknown as LearnerContext<Evolution>)
        return learner.step().then(
          () => false,
          () => true
        )
      }
      expect([await lags(0.05), await lags(0.12), await lags(0.14)]).to.deep.equal([false, false, true])
    })
  })

  describe('population-based training', () => {
    it('gives the weights of the best run to the worst, by messages', async () => {
      const { members, takeovers } = await breed(data, [0.1, 1e-5], { generations: 3, rounds: 40 })
      expect(takeovers[0]).to.deep.include({ loser: 1, winner: 0 })
      expect(takeovers).to.have.length(2)
      for (const { rate } of members) expect(rate).to.be.within(0.05, 0.2)
      // A rate of 1e-5 alone learns nothing in so few steps.
      for (const { accuracy } of members) expect(accuracy).to.be.above(0.5)
    })
  })

  describe('a plateau', () => {
    it('halves the learning rate where the loss stops falling, at rounds that the run records', async () => {
      const job = train({
        model: 'mlp',
        data,
        batch: 16,
        learners: 1,
        optimiser: { learningRate: 1e-7, schedule: 'constant' },
        until: { steps: 600 },
        seed: 1
      })
      const halved = await halveOnPlateau(job, { window: 100, margin: 0.5 })
      const { interventions = [] } = await job.finished
      expect(halved.length).to.be.above(0)
      const made = interventions.map((each) => ({ round: each.round, kind: each.kind }))
      expect(made).to.deep.equal(halved.map((round) => ({ round, kind: 'set' })))
    })
  })
})
