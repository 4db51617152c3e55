import { expect } from 'chai'
import { constant, multistep, step, warmup, type TrainOptions } from '../../../src/index.js'
import { settingsOf } from '../../../src/options/settings.js'
import { unreachedOptions } from '../../../src/run/explain/unreached-options.js'
import { train } from '../../../src/run/train.js'
import { tinyData, tinyModel } from '../../fakes/job.js'

describe('What a run does not come to', () => {
  const options = (more: Partial<TrainOptions>): TrainOptions => ({ model: tinyModel(), data: tinyData(), learners: 1, batch: 4, ...more })
  /** Of two epochs of 15 iterations. */
  const told = (more: Partial<TrainOptions>) =>
    unreachedOptions({ settings: settingsOf(options(more)), dataset: tinyData(), schedule: { iterations: 30, endPosition: 120 } })

  it('is an average that would begin after its end', () => {
    expect(told({ average: { name: 'swa', startEpoch: 3 } })).to.deep.equal([
      'average.startEpoch: received 3; the run has 2 epochs: nothing is averaged, and the central model itself is evaluated'
    ])
    expect(told({ average: { name: 'lawa', period: 2.5 } })).to.deep.equal([
      'average.period: received 2.5; the run has 2 epochs: nothing is averaged, and the central model itself is evaluated'
    ])
    expect(told({ average: { name: 'lawa', startEpoch: 2, period: 3 } })).to.deep.equal([])
    expect(told({ average: { name: 'swa', period: 2 } })).to.deep.equal([])
    expect(told({ average: 'ema' })).to.deep.equal([])
  })

  it('is what its rule begins with after its end', () => {
    expect(told({ synchroniser: { name: 'polyak-ruppert', startEpoch: 2 } })).to.deep.equal([
      'synchroniser.startEpoch: received 2; the run has 2 epochs: no rounds are averaged'
    ])
    expect(told({ synchroniser: { name: 'post-local-sgd', startEpoch: 100 } })).to.deep.equal([
      'synchroniser.startEpoch: received 100; the run has 2 epochs: the learners average in every iteration to the end'
    ])
    for (const name of ['polyak-ruppert', 'post-local-sgd'] as const) {
      expect(told({ synchroniser: { name, startEpoch: 1.9 } })).to.deep.equal([])
      expect(told({ synchroniser: name })).to.deep.equal([])
    }
  })

  it('is the learning rate after a warm-up that is longer than the run', () => {
    expect(told({ optimiser: { warmup: { iterations: 40 } } })).to.deep.equal([
      'optimiser: received a warm-up of 40 iterations; the run has 2 epochs: the learning rate does not rise to that of its schedule'
    ])
    expect(told({ optimiser: { learningRate: warmup(2.5, constant({ learningRate: 0.1 })) } })[0]).to.match(
      /^optimiser: received a warm-up of 2\.5 epochs; /
    )
    for (const duration of [2, { epochs: 1 }, { iterations: 30 }, { fraction: 1 }])
      expect(told({ optimiser: { warmup: duration } })).to.deep.equal([])
    expect(told({})).to.deep.equal([])
  })

  it('is a drop of the learning rate at its end or after it', () => {
    expect(told({ optimiser: { milestones: [1, 2, 3.5] } })).to.deep.equal([
      'optimiser.milestones: received 2 epochs, 3.5 epochs; the run has 2 epochs: the learning rate does not drop at these'
    ])
    const late = multistep({ learningRate: 0.1, milestones: [{ iterations: 29 }, { iterations: 30 }] })
    for (const learningRate of [late, warmup(1, late)])
      expect(told({ optimiser: { learningRate } })).to.deep.equal([
        'optimiser.milestones: received 30 iterations; the run has 2 epochs: the learning rate does not drop at this one'
      ])
    expect(told({ optimiser: { learningRate: step({ learningRate: 0.1, period: 2, gamma: 0.1 }) } })).to.deep.equal([
      'optimiser: received a drop after each 2 epochs; the run has 2 epochs: the learning rate does not drop'
    ])
    expect(told({ optimiser: { learningRate: step({ learningRate: 0.1, period: 1.9, gamma: 0.1 }) } })).to.deep.equal([])
    expect(told({ optimiser: { milestones: [1, 1.9] } })).to.deep.equal([])
  })

  it('is told before it starts', async () => {
    const job = train(options({ average: { name: 'swa', startEpoch: 9 }, until: { steps: 3 } }))
    for await (const event of job) {
      expect(event)
        .to.include({ event: 'warning' })
        .and.have.property('message')
        .that.matches(/^average\.startEpoch: received 9; the run has 0\.2 epochs/)
      break
    }
    await job.finished
  })
})
