import { expect } from 'chai'
import type { StoredDataset } from '../../src/data/dataset.js'
import { datasetFromArrays } from '../../src/data/from-arrays.js'
import type { EvaluatedEvent, JobEvent, PlannedEvent } from '../../src/observe/events.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import { trainWith } from '../../src/run/train.js'
import { firstBatches } from '../../src/run/prepare/overfit.js'
import { FAKES, tinyData, tinyModel } from '../fakes/job.js'
import { refused } from '../support/codes.js'
import { thrown } from '../support/thrown.js'

const start = (options: Partial<TrainOptions>) =>
  trainWith({ model: tinyModel(), data: tinyData(), learners: 2, batch: 4, ...options }, FAKES)

async function eventsOf(options: Partial<TrainOptions>): Promise<JobEvent[]> {
  const events: JobEvent[] = []
  for await (const event of start(options)) events.push(event)
  return events
}

describe('a dry run', () => {
  it('tells plan and memory of the whole run, takes two steps and ends', async () => {
    const events = await eventsOf({ dryRun: true, until: { epochs: 10 }, log: '/nowhere/is/written' })
    const planned = events[0] as PlannedEvent
    expect(planned).to.include({ event: 'planned', learners: 2, stepsAnEpoch: 8, steps: 75 })
    expect(planned.programs.map(({ name, batch }) => [name, batch])).to.deep.equal([
      ['tiny.train', 4],
      ['tiny.evaluate', 64],
      ['tiny.evaluate', 6],
      ['tiny.predict', 64]
    ])
    for (const { operators, flops } of planned.programs) expect([operators, flops].every((figure) => figure > 0)).to.equal(true)
    const started = events.find(({ event }) => event === 'started')
    expect(started).to.include({ bytesPerLearner: planned.bytesPerLearner, bytesShared: planned.bytesShared })
    expect(events.at(-1)).to.include({ event: 'finished', reason: 'completed', iterations: 2 })
    expect(JSON.parse(JSON.stringify(planned))).to.deep.equal(planned)
  })

  it('counts the steps of an epoch by all batches of a step', async () => {
    const [planned] = await eventsOf({ dryRun: true, until: { epochs: 2 }, optimiser: { accumulate: 2 } })
    expect(planned).to.include({ event: 'planned', stepsAnEpoch: 4, steps: 8 })
  })
})

describe('overfitting a few batches', () => {
  it('measures before and after, on what is learnt', async () => {
    const events = await eventsOf({ overfit: 3, optimiser: { learningRate: 0.1 } })
    const measured = events.filter((event): event is EvaluatedEvent => event.event === 'evaluated')
    expect(events.find(({ event }) => event === 'started')).to.include({ samples: 34 * 3 * 4, iterations: 500 })
    expect(measured[0]).to.include({ iteration: 0 })
    expect(measured.at(-1)!.testLoss).to.be.below(measured[0]!.testLoss / 10)
  })

  it('takes the first samples, as they are and again and again', () => {
    const samples = Float32Array.from({ length: 40 }, (_, i) => i)
    const labels = Array.from({ length: 20 }, (_, i) => i % 3)
    const test = { samples: Float32Array.of(9, 9), labels: [0] }
    const data = datasetFromArrays({ sample: [2], samples, labels, classes: 3, test })
    const few = firstBatches(data, { batches: 2, batch: 3 })
    expect(few.train.count).to.equal(300)
    expect([...few.test.samples]).to.deep.equal([...samples.subarray(0, 12)])
    expect([...few.test.labels!]).to.deep.equal([0, 1, 2, 0, 1, 2])
    for (const at of [0, 6, 294]) expect([...few.train.samples.subarray(2 * at, 2 * at + 12)]).to.deep.equal([...few.test.samples])
    expect(few.augmentation).to.deep.equal({ padding: 0, flip: false })
    expect(thrown(() => firstBatches(data, { batches: 7, batch: 3 })).message).to.match(/^overfit: received 7; .* at most 6$/)
    expect(thrown(() => firstBatches(data, { batches: 1, batch: 21 })).message).to.match(/^batch: received 21; .* at most 20$/)
  })

  it('keeps targets with their samples', () => {
    const samples = Float32Array.of(1, 2, 3, 4)
    const targets = Float32Array.of(-1, -2, -3, -4)
    const data = datasetFromArrays({ sample: [1], samples, target: [1], targets, test: { samples, targets } })
    const { train } = firstBatches(data, { batches: 1, batch: 3 })
    expect([...train.targets!.subarray(3, 6)]).to.deep.equal([-1, -2, -3])
  })

  it('takes the first windows of a text, with no token more', () => {
    const tokens = Int32Array.from({ length: 50 }, (_, i) => i % 7)
    const row = { count: 15, sample: [4], samples: tokens, stride: 3, classes: 7 }
    const text: StoredDataset = { ...tinyData(), name: 'text', sample: [4], classes: 7, train: row, test: row }
    const { train, test } = firstBatches(text, { batches: 2, batch: 3 })
    expect(train).to.deep.include({ count: 6, stride: 3, samples: tokens.subarray(0, 5 * 3 + 4 + 1) })
    expect(test).to.deep.equal(train)
  })

  it('is refused for more batches than there are', () =>
    refused('INVALID_OPTION', () => start({ overfit: 16 }).finished, 'overfit', 'at most 15'))
})
