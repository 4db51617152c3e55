import { join } from 'node:path'
import { expect } from 'chai'
import { usableCores } from '../../../src/engine/machine.js'
import { explain, train, type TrainOptions } from '../../../src/index.js'
import { refused } from '../../support/codes.js'
import { DiskFolder } from '../../support/disk-folder.js'
import { seldom } from '../../support/seldom.js'
import { FORGETFUL } from '../support/forgetful.js'
import { expectSameWeightsMoving, limitedRun, moving } from '../support/limited-run.js'

const base = FORGETFUL

const CASES: Readonly<Record<string, Partial<TrainOptions>>> = {
  'learners that share arenas': { learners: 2 * usableCores(), batch: 8, until: { steps: 2 } },
  ...(seldom.tested && { 'a learner': {} })
}

describe('a folder to which values are moved', function () {
  this.timeout(120_000)

  for (const [name, options] of Object.entries(CASES))
    it(`lets a run train in less memory, with every bit of the weights the same: ${name}`, async () => {
      await using folder = await DiskFolder.make()
      await expectSameWeightsMoving({ ...base, ...options }, folder.path)
    })

  it('is not needed by a GPU, whose host has memory', async () => {
    const options: TrainOptions = { ...base, backend: 'cuda-host' as never, batch: 6, until: { steps: 3 } }
    const whole = await limitedRun(options)
    const { started, finished } = await limitedRun(await moving(options))
    expect(started.movedBytes).to.be.above(0)
    expect(finished.weightsSha256).to.equal(whole.finished.weightsSha256)
    await refused('INVALID_OPTION', () => train({ ...options, spill: '/tmp' }).finished, 'spill', 'leave it out')
  })

  it('may be given up where a run is resumed', async () => {
    await using folder = await DiskFolder.make()
    await using checkpoints = await DiskFolder.make()
    const until = (steps: number, dir: string) => ({
      ...base,
      optimiser: { learningRate: 0.05, milestones: [] },
      until: { steps },
      checkpoint: { dir, period: 2 }
    })
    const whole = await limitedRun(until(4, join(checkpoints.path, 'whole')))
    const dir = join(checkpoints.path, 'resumed')
    expect((await limitedRun(await moving(until(2, dir), folder.path))).started.movedBytes).to.be.above(0)
    expect((await limitedRun(until(4, dir))).finished.weightsSha256).to.equal(whole.finished.weightsSha256)
  })

  it('is explained: what moves, and what that costs', async () => {
    await using folder = await DiskFolder.make()
    const asked = { model: base.model, batch: 32, flopsPerSecond: 1e11, bytesPerSecond: 1e10 } as const
    const alone = await explain(asked)
    const { floorBytes } = await explain({ ...asked, spill: folder.path })
    expect(floorBytes).to.be.below(alone.floorBytes)
    const limited = await explain({ ...asked, spill: folder.path, deviceMemory: floorBytes })
    expect(limited.movedBytes).to.be.above(0)
    expect(limited.predictedSlowdown).to.be.above(1)
    expect(limited.operators.every(({ kind }) => !['store', 'fetch', 'settle'].includes(kind))).to.equal(true)
    const places = limited.timeline.within!.filter(({ repeats }) => !repeats)
    expect(places).to.have.length(limited.timeline.held.length)
  })

  it('must be on a disk, and cannot make room for everything', async () => {
    await using folder = await DiskFolder.make()
    await refused(
      'INVALID_OPTION',
      () => train({ ...base, spill: '/dev/shm' }).finished,
      'spill: received /dev/shm',
      'give a folder on a disk'
    )
    await refused('INVALID_OPTION', () => train({ ...base, spill: join(folder.path, 'none') }).finished, 'No such file or directory')
    await refused(
      'OUT_OF_MEMORY',
      () => train({ ...base, deviceMemory: '1MiB', spill: folder.path }).finished,
      'deviceMemory: received 1.0 MiB',
      'a smaller batch',
      'use at least'
    )
  })
})
