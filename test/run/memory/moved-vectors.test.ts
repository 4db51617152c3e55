import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { explain, train, type TrainOptions } from '../../../src/index.js'
import { datasetFromText } from '../../../src/data/text.js'
import { parameterCount } from '../../../src/model/graph-builder.js'
import { gpt } from '../../../src/model/zoo/index.js'
import { refused } from '../../support/codes.js'
import { DiskFolder } from '../../support/disk-folder.js'
import { floorOf, limitedRun, limitsOf } from '../support/limited-run.js'

const data = await datasetFromText({ text: 'jack and jill went up the hill to fetch a pail of water. '.repeat(30), context: 16 })
const model = gpt({ input: data.sample, classes: data.classes }, { layers: 3, heads: 4, width: 128, dropout: 0.1 })
const BYTES = 4 * parameterCount(model)

/** A run whose parameters take more memory than its activations. */
const base = {
  model,
  data,
  batch: 4,
  learners: 1,
  optimiser: { name: 'adamw', learningRate: 0.01, milestones: [] },
  until: { steps: 3 },
  seed: 3
} as const satisfies TrainOptions

const CASES: Readonly<Record<string, Partial<TrainOptions>>> = {
  'one learner': {},
  'several batches a step': { optimiser: { ...base.optimiser, accumulate: 2 } },
  'learners that share the optimiser': { learners: 2, synchroniser: 'ssgd' },
  'learners that train one model': { synchroniser: 'hogwild' },
  'a GPU, whose host has memory': { backend: 'cuda-host' as never, batch: 2 }
}

describe('a model larger than the memory of its device', function () {
  this.timeout(120_000)

  for (const [name, options] of Object.entries(CASES))
    it(`is trained with every bit of the weights the same: ${name}`, async () => {
      await using folder = await DiskFolder.make()
      const spill = options.backend === undefined ? { spill: folder.path } : {}
      const given: TrainOptions = { ...base, ...options, ...spill }
      const { whole, limits } = await limitsOf(given, [0, 0.5])
      // Less than each learner's parameters and the states of an optimiser.
      expect(limits[0]).to.be.below(((options.learners as number | undefined) ?? 1) * BYTES + 2 * BYTES)
      for (const deviceMemory of limits) {
        const { started, finished } = await limitedRun({ ...given, deviceMemory })
        expect(started.movedBytes).to.be.above(0)
        expect(started.predictedSlowdown).to.be.above(1)
        expect(finished.peakDeviceBytes).to.be.at.most(deviceMemory)
        expect(finished.weightsSha256).to.equal(whole.finished.weightsSha256)
        expect(finished.testLoss).to.equal(whole.finished.testLoss)
      }
      expect(await readdir(folder.path)).to.deep.equal([])
    })

  it('moves no more than the states of the optimiser where that is enough', async () => {
    await using folder = await DiskFolder.make()
    const given: TrainOptions = { ...base, spill: folder.path }
    const whole = await limitedRun(given)
    const { bytesPerLearner, bytesShared } = whole.started
    const { started, finished } = await limitedRun({ ...given, deviceMemory: Math.floor(bytesPerLearner + bytesShared - BYTES) })
    expect(started.movedBytes).to.be.within(2 * BYTES, 2.2 * BYTES)
    expect(finished.weightsSha256).to.equal(whole.finished.weightsSha256)
  })

  it('is resumed within another limit, saved, measured and asked', async () => {
    await using folder = await DiskFolder.make()
    await using checkpoints = await DiskFolder.make()
    const until = (steps: number, name: string): TrainOptions => ({
      ...base,
      until: { steps },
      checkpoint: { dir: join(checkpoints.path, name), period: 2 }
    })
    const whole = await limitedRun(until(4, 'whole'))
    const spilling = { ...until(2, 'resumed'), spill: folder.path }
    const deviceMemory = await floorOf(spilling)
    expect(deviceMemory).to.be.below(5 * BYTES)
    await limitedRun({ ...spilling, deviceMemory })
    const job = train({ ...until(4, 'resumed'), spill: folder.path, deviceMemory: Math.floor(1.2 * deviceMemory) })
    const finished = await job.finished
    expect(finished.weightsSha256).to.equal(whole.finished.weightsSha256)
    expect((await job.model.evaluate(data)).testLoss).to.be.closeTo(finished.testLoss, 1e-6)
    expect(await job.model.generate('jack', { length: 5, seed: 1 })).to.have.lengthOf(5)
  })

  it('is explained: what moves, what that costs, and the least that it takes', async () => {
    await using folder = await DiskFolder.make()
    const asked = { model, batch: 4, flopsPerSecond: 1e11, bytesPerSecond: 1e10 } as const
    const alone = await explain(asked)
    const { floorBytes } = await explain({ ...asked, spill: folder.path })
    expect(floorBytes).to.be.below(alone.floorBytes - 3 * BYTES)
    const limited = await explain({ ...asked, spill: folder.path, deviceMemory: floorBytes })
    expect(limited.memory.total).to.be.at.most(floorBytes)
    expect(limited.memory.learner.weights + limited.memory.learner.gradients + limited.memory.learner.velocity).to.equal(0)
    expect(limited.movedBytes).to.be.at.least(5 * BYTES)
  })

  it('is refused where vectors cannot be moved', async () => {
    await using folder = await DiskFolder.make()
    const given: TrainOptions = { ...base, spill: folder.path }
    const least = await floorOf(given)
    // The norm of a gradient is summed in another order there.
    const clipped: TrainOptions = { ...given, optimiser: { ...base.optimiser, clipNorm: 1 } }
    await refused('OUT_OF_MEMORY', () => train({ ...clipped, deviceMemory: least }).finished, 'deviceMemory: received', 'use at least')
    expect(await floorOf(clipped)).to.be.above(least + BYTES)
  })
})
