import { expect } from 'chai'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { JobEvent } from '../../src/observe/events.js'
import { openSinks } from '../../src/observe/open-sinks.js'
import { trainWith } from '../../src/run/train.js'
import { Folder } from '../data/support/files.js'
import { FAKES, tinyData, tinyModel } from '../fakes/job.js'
import { skip } from '../support/skip.js'
import { pythonWithTensorboard, scalarsOf } from './support/tensorboard.js'

describe("TensorBoard's own reader", function () {
  this.timeout(600_000)
  let python: string

  before(function () {
    const found = pythonWithTensorboard()
    if (found.python === undefined) skip(this, found.reason)
    python = found.python
  })

  it('reads every figure of a run, each at its iteration', async () => {
    await using folder = await Folder.make()
    const options = { model: tinyModel(), data: tinyData(), learners: 2, batch: 4, until: { epochs: 2 }, tensorboard: folder.path }
    const events: JobEvent[] = []
    for await (const event of trainWith(options, FAKES)) events.push(event)
    const read = scalarsOf(python, join(folder.path, readdirSync(folder.path)[0]!))

    const evaluated = events.filter((event) => event.event === 'evaluated')
    expect(evaluated).to.have.length(2)
    expect(read['test/loss']).to.deep.equal(evaluated.map(({ iteration, testLoss }) => [iteration, Math.fround(testLoss)]))
    const progress = events.filter((event) => event.event === 'progress')
    expect(progress).to.not.have.length(0)
    expect(read['train/loss']).to.deep.equal(progress.map(({ iteration, loss }) => [iteration, Math.fround(loss)]))
    const others = ['train/learning_rate', 'train/images_per_second', 'train/learners', 'epoch', 'test/accuracy']
    expect(read).to.have.all.keys('train/loss', 'test/loss', ...others)
  })

  it('drops what a run had discarded when it went back', async () => {
    await using folder = await Folder.make()
    const sinks = await openSinks({ tensorboard: folder.path }, 'back')
    const log = (iteration: number, value: number) => sinks.write({ event: 'logged', iteration, learner: null, metrics: { value } })
    for (const iteration of [10, 20, 30]) log(iteration, 1)
    sinks.write({ event: 'wentBack', iteration: 31, learningRateScale: 0.5, retries: 2 })
    sinks.write({ event: 'resumed', folder: '', round: 20, iteration: 20, refused: [] })
    log(25, 2)
    sinks.close()
    expect(scalarsOf(python, join(folder.path, 'back'))['metrics/value']).to.deep.equal([
      [10, 1],
      [20, 1],
      [25, 2]
    ])
  })

  it('drops all of a run that went back to its start', async () => {
    await using folder = await Folder.make()
    const sinks = await openSinks({ tensorboard: folder.path }, 'back')
    const log = (iteration: number, value: number) => sinks.write({ event: 'logged', iteration, learner: null, metrics: { value } })
    log(10, 1)
    sinks.write({ event: 'wentBack', iteration: 11, learningRateScale: 0.5, retries: 2 })
    log(20, 2)
    sinks.close()
    expect(scalarsOf(python, join(folder.path, 'back'))['metrics/value']).to.deep.equal([[20, 2]])
  })
})
