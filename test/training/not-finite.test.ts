import { expect } from 'chai'
import { join } from 'node:path'
import { checkpointsIn } from '../../src/checkpoints/store.js'
import { openDataset } from '../../src/data/open.js'
import type { Dataset } from '../../src/data/dataset.js'
import type { JobEvent } from '../../src/training/events.js'
import type { TrainOptions } from '../../src/training/options.js'
import { train } from '../../src/training/train.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'

describe('A run whose loss is no number any more', function () {
  this.timeout(60_000)
  let data: Dataset
  before(async () => (data = await openDataset('digits', { samples: 400 })))

  const options = (more: Partial<TrainOptions>): TrainOptions => ({
    model: 'mlp',
    data,
    batch: 8,
    learners: 2,
    until: { steps: 60 },
    optimiser: { rate: 1e30, momentum: 0 },
    ...more
  })

  const eventsOf = async (given: TrainOptions) => {
    const events: JobEvent[] = []
    for await (const event of train(given)) events.push(event)
    return events
  }

  it('goes back to its start with a lower rate, and says so', async () => {
    const events = await eventsOf(options({ onNaN: { rate: 2 ** -60, retries: 2 } }))
    expect(events.filter(({ event }) => event === 'started')).to.have.lengthOf(1)
    const back = events.filter((event) => event.event === 'wentBack')
    expect(back.map(({ rateScale, retries }) => [rateScale, retries])).to.deep.equal([
      [2 ** -60, 1],
      [2 ** -120, 0]
    ])
    const last = events.at(-1)!
    expect(last).to.include({ event: 'finished', iterations: 60 })
  })

  it('goes back to the newest checkpoint where there is one, and keeps the lower rate when it is resumed', async () => {
    await using folder = await Folder.make()
    const given = options({
      optimiser: { rate: 0.01, momentum: 0, milestones: [1000] },
      checkpoint: join(folder.path, 'run'),
      onNaN: { rate: 0.1, retries: 1 },
      learner: new URL('../fakes/stumbling-learner.js', import.meta.url),
      learnerOptions: { stumbled: new SharedArrayBuffer(4), from: 30 }
    })
    const events = await eventsOf(given)
    const resumed = events.find((event) => event.event === 'resumed')
    expect(resumed?.iteration).to.equal(25)
    const rates = events.flatMap((event) => (event.event === 'progress' ? [event.rate] : []))
    expect(rates.at(-1)).to.be.closeTo(0.001, 1e-8)
    expect(events.at(-1)).to.include({ event: 'finished', iterations: 60 })
    const further = await eventsOf({ ...given, until: { steps: 70 } })
    expect(further.map(({ event }) => event)).to.not.include('wentBack')
    expect(further.find((event) => event.event === 'progress')?.rate).to.be.closeTo(0.001, 1e-8)
    expect(further.at(-1)).to.include({ event: 'finished', iterations: 70 })
  })

  it('is found out where its loss looks sound, for a fused ReLU of the CPU takes for a zero what is no number', async () => {
    const hidden = options({ model: 'lenet', learners: 1, until: { steps: 30 }, optimiser: { name: 'adam', rate: 1e19 } })
    await refused(
      'LOSS_NOT_FINITE',
      () => train(hidden).finished,
      'the central model had weights that are not finite numbers at iteration 30'
    )
    const events = await eventsOf({ ...hidden, onNaN: { rate: 1e-22, retries: 1 } })
    expect(events.filter(({ event }) => event === 'wentBack')).to.have.lengthOf(1)
    expect(events.at(-1)).to.include({ event: 'finished', iterations: 30 })
  })

  it('leaves no checkpoint of it', async () => {
    await using folder = await Folder.make()
    const given = options({ model: 'lenet', learners: 1, until: { steps: 30 }, optimiser: { name: 'adam', rate: 1e19 } })
    await refused('LOSS_NOT_FINITE', () => train({ ...given, checkpoint: { dir: folder.path, every: 5 } }).finished, 'at iteration 5')
    expect(await checkpointsIn(folder.path)).to.deep.equal([])
  })

  it('ends as it would without, once it has gone back often enough', async () => {
    await refused('LOSS_NOT_FINITE', () => train(options({ onNaN: { rate: 0.9, retries: 2 } })).finished, 'lower rate')
  })

  it('wants a share and a number of times', async () => {
    await refused('INVALID_OPTION', () => train(options({ onNaN: { rate: 2 } })), 'onNaN.rate')
    await refused('INVALID_OPTION', () => train(options({ onNaN: { retries: 0 } })), 'onNaN.retries')
  })
})
