import { expect } from 'chai'
import { Folder } from '../../data/support/files.js'
import { explain, train, type TrainOptions } from '../../../src/index.js'
import { BUILT_IN_LEARNER } from '../../../src/run/run-modules.js'
import { MemoryBudget } from '../../../src/run/memory/budget.js'
import { trainWith } from '../../../src/run/train.js'
import { engine } from '../../fakes/engine.js'
import { machine } from '../../fakes/limited-memory-engine.js'
import { FAKES, tinyData, tinyModel } from '../../fakes/job.js'
import { refused } from '../../support/codes.js'
import { FORGETFUL } from '../support/forgetful.js'
import { floorOf, limitedRun, limitsOf } from '../support/limited-run.js'

const base = FORGETFUL

const CASES: Readonly<Record<string, Partial<TrainOptions>>> = {
  'a learner': {},
  'learners on the stand-in for GPUs': { learners: 2, backend: 'cuda-host' as never, batch: 6, until: { steps: 2 } }
}

describe('device memory', function () {
  this.timeout(120_000)

  for (const [name, options] of Object.entries(CASES))
    it(`is kept within its limit, and every bit of the weights is the same: ${name}`, async () => {
      const { whole, limits } = await limitsOf({ ...base, ...options }, [0.5, 0])
      expect(whole.started).not.to.have.property('recomputedBytes')
      for (const deviceMemory of limits) {
        const { started, finished } = await limitedRun({ ...base, ...options, deviceMemory })
        expect(started.bytesShared + started.learners * started.bytesPerLearner).to.be.at.most(deviceMemory)
        // A stream of the stand-in has the numbers of its step on the device.
        expect(finished.peakDeviceBytes).to.be.at.most(deviceMemory + (options.backend ? 4096 : 0))
        expect(started.recomputedBytes).to.be.above(0)
        expect(started.predictedSlowdown).to.be.above(1)
        expect(finished.weightsSha256).to.equal(whole.finished.weightsSha256)
      }
    })

  it('may be limited otherwise where a run is resumed', async () => {
    await using folder = await Folder.make()
    await using other = await Folder.make()
    const until = (steps: number, dir: string) => ({
      ...base,
      optimiser: { learningRate: 0.05, milestones: [] },
      until: { steps },
      checkpoint: { dir, period: 2 }
    })
    // A checkpoint is a copy, which is counted too.
    const { whole, limits } = await limitsOf(until(6, other.path), [0.5])
    await limitedRun(until(4, folder.path))
    const { started, finished } = await limitedRun({ ...until(6, folder.path), deviceMemory: limits[0]! })
    expect(started.recomputedBytes).to.be.above(0)
    expect(finished.weightsSha256).to.equal(whole.finished.weightsSha256)
  })

  it('of a run is told by what it allocates', async () => {
    const { started, finished } = await limitedRun(base)
    const told = started.bytesShared + started.bytesPerLearner
    expect(finished.peakDeviceBytes).to.be.within(0.9 * told, told)
  })

  it('below the least is refused, with what helps', async () => {
    const floor = await floorOf(base)
    await refused(
      'OUT_OF_MEMORY',
      () => train({ ...base, deviceMemory: Math.floor(floor / 2) }).finished,
      'deviceMemory: received',
      'use at least',
      'a smaller batch',
      'optimiser.accumulate'
    )
    expect((await limitedRun({ ...base, deviceMemory: floor })).finished.reason).to.equal('completed')
  })

  it('bounds the learners of a tuned run, and those that a program adds', async () => {
    const { started } = await limitedRun(base)
    const deviceMemory = started.bytesShared + 2 * started.bytesPerLearner
    const tuned = await limitedRun({ ...base, learners: { max: 8, window: 0.01 }, until: { steps: 60 }, deviceMemory })
    expect(Math.max(...tuned.finished.population.map(({ learners }) => learners))).to.equal(1)

    const job = train({ ...base, learners: 2, until: { steps: 300 }, deviceMemory })
    await refused('OUT_OF_MEMORY', () => job.actors.supervisor.ask.resize(3), 'allowed by deviceMemory')
    job.stop()
    expect((await job.finished).population).to.deep.equal([{ round: 0, learners: 2 }])
  })

  it('bounds a tuned run that goes on within another limit or with fewer learners at most, from there on', async () => {
    const { started } = await limitedRun(base)
    const learners = (max: number) => ({ initial: max, max, window: 100 })
    // With what a thread takes, and a quarter of it to spare.
    const deviceMemory = 2 * (started.bytesShared + 2 * started.bytesPerLearner) + 2 * 1.25 * 32 * 2 ** 20
    for (const fewer of [{ learners: learners(2) }, { learners: learners(4), deviceMemory }]) {
      await using folder = await Folder.make()
      const common = { ...base, batch: 4, checkpoint: folder.path, optimiser: { milestones: [] } }
      // Of 120 samples each.
      await train({ ...common, learners: learners(4), until: { epochs: 2 } }).finished
      const { population, iterations, epochs } = await train({ ...common, ...fewer, until: { epochs: 4 } }).finished
      expect(population.map((change) => [change.round, change.learners])).to.deep.equal([
        [0, 4],
        [15, 2]
      ])
      expect({ iterations, epochs }).to.deep.equal({ iterations: 45, epochs: 4 })
    }
  })

  it('that is scarce has values computed again without being asked, up to half as much time again', async () => {
    const { started, finished } = await limitedRun(base)
    const all = started.bytesShared + started.bytesPerLearner
    const tight = (free: number) => {
      machine.freeMemory = free
      return trainWith(base, { engine: new URL('../../fakes/limited-memory-engine.js', import.meta.url), learner: BUILT_IN_LEARNER })
    }
    const job = tight(Math.floor(0.9 * all))
    let recomputed: number | undefined
    job.on('started', ({ recomputedBytes }) => (recomputed = recomputedBytes))
    expect((await job.finished).weightsSha256).to.equal(finished.weightsSha256)
    expect(recomputed).to.be.above(0)
    await refused('OUT_OF_MEMORY', () => tight(2 ** 18).finished, 'learners: received 1', 'are free; use a smaller batch')
  })

  it('is given as bytes, in units, as a part of all, or left to the run', async () => {
    const devices = { devices: [{ cores: [] }], levels: [], ordered: false } as const
    const limit = (deviceMemory: 'auto' | { bytes: number } | { share: number }) =>
      MemoryBudget.now(engine, { backend: 'cpu', devices, deviceMemory }).limit
    expect(limit('auto')).to.equal(undefined)
    expect(limit({ bytes: 5 })).to.equal(5)
    expect(limit({ share: 0.5 })).to.be.within(2 ** 26, 2 ** 46)
    const explained = async (deviceMemory: string | number) => {
      const { memoryBytes, floorBytes, recomputedBytes } = await explain({
        model: 'resnet20',
        batch: 16,
        deviceMemory,
        flopsPerSecond: 1e11,
        bytesPerSecond: 1e10
      })
      expect(floorBytes).to.be.below(memoryBytes)
      return recomputedBytes
    }
    expect(await explained('1 GiB')).to.equal(0)
    expect(await explained(30 * 2 ** 20)).to.be.above(0)
    for (const deviceMemory of ['2 gib', '0%', '101%', '-1', 0, 1.5e20, 'much', '', {}] as never[])
      await refused('INVALID_OPTION', () => train({ ...base, deviceMemory }).finished, 'deviceMemory: received')
  })

  it('is not limited by anything else: a run on a fake engine is as before', async () => {
    const job = trainWith({ model: tinyModel(), data: tinyData(), batch: 4, learners: 2, until: { steps: 4 }, deviceMemory: '1GiB' }, FAKES)
    expect((await job.finished).peakDeviceBytes).to.be.a('number')
  })
})
