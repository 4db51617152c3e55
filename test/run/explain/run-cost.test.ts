import { expect } from 'chai'
import { usableCores } from '../../../src/engine/machine.js'
import { datasetFromArrays, type JobEvent, type TrainOptions } from '../../../src/index.js'
import { settingsOf } from '../../../src/options/settings.js'
import { checkCost, costWarnings } from '../../../src/run/explain/run-cost.js'
import { train, trainWith } from '../../../src/run/train.js'
import { engine } from '../../fakes/engine.js'
import { FAKES, tinyData, tinyModel } from '../../fakes/job.js'
import { refused } from '../../support/codes.js'

const tiny = (options: Partial<TrainOptions>): TrainOptions => ({ model: tinyModel(), data: tinyData(), learners: 1, batch: 4, ...options })

describe('What a run costs', () => {
  it('is told in one line before it starts, where it is more than one may expect', async () => {
    const events: JobEvent[] = []
    for await (const event of train(tiny({ batch: 100, learners: 3 * usableCores() + 1, until: { steps: 1 } }))) events.push(event)
    expect(events.slice(0, 3).map(({ event }) => event)).to.deep.equal(['warning', 'warning', 'started'])
    const [learners, batch] = events.flatMap((event) => (event.event === 'warning' ? [event.message] : []))
    expect(learners).to.match(/^learners: \d+ are \d+ threads on \d+ cores? and take about \d+\.\d MiB; more than \d+ are rarely faster$/)
    expect(batch).to.equal('batch: each step of a learner takes 100 samples, and there are 60: it has each of them about 1.7 times')
  })

  it('counts threads, memory and accumulated batches', () => {
    const run = (options: Partial<TrainOptions>) => {
      const settings = settingsOf(tiny(options))
      return costWarnings({ settings, dataset: tinyData(), need: { perLearner: 2 ** 20, shared: 2 ** 20 } }, 2)
    }
    expect(run({ learners: 6, batch: 60 })).to.deep.equal([])
    expect(run({ learners: 'auto' })).to.deep.equal([])
    expect(run({ learners: 1000 })).to.deep.equal([
      'learners: 1000 are 1000 threads on 2 cores and take about 33001.0 MiB; more than 6 are rarely faster'
    ])
    expect(run({ learners: 4, threads: 2 })[0]).to.match(/^learners: 4 are 8 threads on 2 cores .* more than 3 /)
    expect(run({ threads: 2 })).to.deep.equal([])
    expect(run({ threads: 1024 })).to.deep.equal([
      'threads: those of a learner are 1024 on 2 cores, where they wait for one another: more than 2 are slower'
    ])
    expect(run({ batch: 20, optimiser: { accumulate: 6 } })[0]).to.match(
      /takes 120 samples, and there are 60: it has each of them about 2\.0 times$/
    )
  })

  it('is refused where this machine cannot hold it', async () => {
    // The fake engine has 4 GiB.
    const wide = datasetFromArrays({ sample: [5000], classes: 2, samples: new Float32Array(15_000), labels: [0, 1, 0] })
    await refused(
      'INVALID_OPTION',
      () => trainWith(tiny({ learners: 1000 }), FAKES).finished,
      'learners: received 1000',
      '8000.0 MiB',
      'at most 512'
    )
    await refused(
      'INVALID_OPTION',
      () => trainWith(tiny({ data: wide, batch: 1_048_576 }), FAKES).finished,
      'batch: received 1048576',
      'at most'
    )
    const settings = settingsOf(tiny({ learners: 40, threads: 2 }))
    await refused(
      'INVALID_OPTION',
      () => checkCost(settings, tinyData(), engine, 95),
      'learners: received 40',
      'allows 95 more',
      'at most 39'
    )
    checkCost(settings, tinyData(), engine, 96)
    await refused('LIMIT_REACHED', () => checkCost(settings, tinyData(), engine, 17), 'allows no more', 'ulimit -u')
  })
})
