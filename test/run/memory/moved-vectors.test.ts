import { expect } from 'chai'
import { explain, train, type TrainOptions } from '../../../src/index.js'
import { refused } from '../../support/codes.js'
import { DiskFolder } from '../../support/disk-folder.js'
import { floorOf, limitedRun } from '../support/limited-run.js'
import { expectSameWeightsWithin, MANY_WEIGHTS as base, VECTOR_BYTES as BYTES } from '../support/many-weights.js'

describe('a model larger than the memory of its device', function () {
  this.timeout(120_000)

  it('is trained with every bit of the weights the same', () => expectSameWeightsWithin({}, [0]))

  it('moves no more than the states of the optimiser where that is enough', async () => {
    await using folder = await DiskFolder.make()
    const given: TrainOptions = { ...base, spill: folder.path }
    const whole = await limitedRun(given)
    const { bytesPerLearner, bytesShared } = whole.started
    const { started, finished } = await limitedRun({ ...given, deviceMemory: Math.floor(bytesPerLearner + bytesShared - BYTES) })
    expect(started.movedBytes).to.be.within(2 * BYTES, 2.2 * BYTES)
    expect(finished.weightsSha256).to.equal(whole.finished.weightsSha256)
  })

  it('is explained: what moves, what that costs, and the least that it takes', async () => {
    await using folder = await DiskFolder.make()
    const asked = { model: base.model, batch: 4, flopsPerSecond: 1e11, bytesPerSecond: 1e10 } as const
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
