import { join } from 'node:path'
import { readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { train, type TrainOptions } from '../../../src/index.js'
import { DiskFolder } from '../../support/disk-folder.js'
import { floorOf, limitedRun } from '../support/limited-run.js'
import { expectSameWeightsWithin, MANY_WEIGHTS as base, VECTOR_BYTES as BYTES } from '../support/many-weights.js'

const CASES: Readonly<Record<string, Partial<TrainOptions>>> = {
  'one learner': {},
  'several batches a step': { optimiser: { ...base.optimiser, accumulate: 2 } },
  'learners that share the optimiser': { learners: 2, synchroniser: 'ssgd' },
  'learners with corrections of their own': { learners: 2 },
  'learners that train one model': { synchroniser: 'hogwild' },
  'a central model with slack': { learners: 2, synchroniser: 'parameter-server' },
  'a GPU, whose host has memory': { backend: 'cuda-host' as never, batch: 2 }
}

describe('a model larger than the memory of its device', function () {
  this.timeout(600_000)

  for (const [name, options] of Object.entries(CASES))
    it(`is trained with every bit of the weights the same, at any limit: ${name}`, () =>
      expectSameWeightsWithin(options, [0, 0.25, 0.5, 0.75]))

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
    expect((await job.model.evaluate(base.data)).testLoss).to.be.closeTo(finished.testLoss, 1e-6)
    expect(await job.model.generate('jack', { length: 5, seed: 1 })).to.have.lengthOf(5)
  })

  it('is stopped while vectors move, and leaves nothing on the disk', async () => {
    await using folder = await DiskFolder.make()
    const given: TrainOptions = { ...base, spill: folder.path, until: { steps: 1e6 } }
    const job = train({ ...given, deviceMemory: await floorOf(given) })
    job.on('progress', () => job.stop())
    expect((await job.finished).reason).to.equal('stopped')
    expect(await readdir(folder.path)).to.deep.equal([])
  })
})
