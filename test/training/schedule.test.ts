import { expect } from 'chai'
import { multistep, rateAt } from '../../src/training/rates.js'
import { scheduleOf, type Schedule } from '../../src/training/schedule.js'
import { settingsOf } from '../../src/training/settings.js'
import type { TrainOptions } from '../../src/training/options.js'

/** The rounds before which a run is measured. */
function measurements(run: Schedule): number[] {
  const rounds: number[] = []
  for (let round = 0; round < run.rounds; rounds.push(round)) round = run.measuredAfter(round)
  return rounds
}

const schedule = (options: Partial<TrainOptions>, samples: number) =>
  scheduleOf(settingsOf({ model: 'mlp', learners: 2, batch: 5, optimiser: { milestones: [] }, ...options }), samples)

describe('a run’s schedule', () => {
  it('takes as many iterations as the epochs need, the last one begun', () => {
    expect(schedule({ until: { epochs: 3 } }, 100).iterations).to.equal(30)
    expect(schedule({ until: { epochs: 3 } }, 101).iterations).to.equal(31)
    expect(schedule({ until: { epochs: 0.5 } }, 100).iterations).to.equal(5)
    expect(schedule({ until: { steps: 7 } }, 100).iterations).to.equal(7)
    expect(schedule({ until: { steps: 7, epochs: 0.5 } }, 100).iterations).to.equal(5)
  })

  it('measures before the first round that begins after an epoch’s end, and at the end', () => {
    expect(measurements(schedule({ until: { epochs: 3 } }, 100))).to.deep.equal([10, 20, 30])
    expect(measurements(schedule({ until: { epochs: 2.5 } }, 101))).to.deep.equal([11, 21, 26])
    expect(measurements(schedule({ until: { epochs: 3 }, synchroniser: { period: 4 } }, 100))).to.deep.equal([3, 5, 8])
    expect(measurements(schedule({ until: { steps: 2 } }, 100))).to.deep.equal([2])
    // An epoch that is shorter than a round is not measured twice.
    expect(measurements(schedule({ until: { epochs: 4 }, synchroniser: { period: 2 } }, 10))).to.deep.equal([1, 2])
  })

  it('drops the rate where the learners start anew: at rounds', () => {
    const { restarts, rates } = schedule(
      { until: { epochs: 3 }, optimiser: { rate: 1, decay: 0.5, milestones: [1, 1.25, 7] }, synchroniser: { period: 4 } },
      100
    )
    expect(restarts).to.deep.equal([3, 4])
    expect([0, 11, 12, 15, 16, 29].map((iteration) => rateAt(rates, iteration))).to.deep.equal([1, 1, 0.5, 0.5, 0.25, 0.25])
  })

  it('places default milestones by the run’s length', () => {
    const { restarts, iterations } = scheduleOf(settingsOf({ model: 'resnet20', learners: 1, batch: 10, until: { epochs: 10 } }), 100)
    expect([restarts, iterations]).to.deep.equal([[50, 80], 100])
  })
})

describe('multistep rates', () => {
  it('hold between milestones, and the last one for ever', () => {
    const rates = multistep({ rate: 1, decay: 0.5, milestones: [1, 3] })
    expect([0, 1, 2, 3, 1e9].map((iteration) => rateAt(rates, iteration))).to.deep.equal([1, 0.5, 0.5, 0.25, 0.25])
  })

  it('follow a piece of one rate an iteration', () => {
    const rates = [...multistep({ rate: 1, decay: 1, milestones: [] }), { from: 2, rates: Float32Array.of(3, 4) }]
    expect([1, 2, 3, 4].map((iteration) => rateAt(rates, iteration))).to.deep.equal([1, 3, 4, 4])
  })
})
