import { expect } from 'chai'
import { usableCores, usableProcessors } from '../../../src/engine/machine.js'
import { Random } from '../../../src/data/random.js'
import { datasetFromArrays, train, type FinishedEvent, type TrainOptions } from '../../../src/index.js'
import { arenasFor, sharedArenas } from '../../../src/run/memory/shared-arenas.js'
import { trainWith } from '../../../src/run/train.js'
import { engine } from '../../fakes/engine.js'
import { FAKES, tinyData, tinyModel } from '../../fakes/job.js'
import { skip } from '../../support/skip.js'

const BUILT_IN = new URL('../../../src/learner/built-in-learner.js', import.meta.url)

describe('arenas of activations', function () {
  this.timeout(120_000)
  const cores = usableCores()

  it('are shared by learners that cannot all compute at once', () => {
    expect(arenasFor(cores + 1, { threads: 1 })).to.deep.equal([cores])
    expect(arenasFor(cores, { threads: 1 })).to.equal(undefined)
    expect(arenasFor(2, { threads: 2 * cores })).to.deep.equal([1])
    const population = { schedule: [{ round: 0, learners: 1 }], tuning: undefined }
    const devices = { devices: [{ cores: [] }], levels: [], ordered: false } as const
    const plain = { threads: 1, backend: 'cpu', devices } as const
    expect(sharedArenas(engine, { ...plain, population })).to.equal(undefined)
    const crowd = { ...plain, population: { schedule: [{ round: 0, learners: cores + 1 }], tuning: undefined } }
    expect(sharedArenas(engine, crowd)).to.deep.equal([cores])
    expect(sharedArenas(engine, { ...crowd, learner: BUILT_IN })).to.equal(undefined)
    // Steps that are told in their segments need arenas of their learner's own.
    expect(sharedArenas(engine, { ...crowd, trace: { file: 'trace.json', steps: 20 } })).to.equal(undefined)
    expect(sharedArenas(engine, { ...crowd, trace: { file: 'trace.json', steps: 0 } })).to.deep.equal([cores])
    // What one has queued on a GPU may run while the next one queues.
    expect(sharedArenas(engine, { ...crowd, backend: 'cuda' })).to.equal(undefined)
  })

  it('are those of a device: as many as its cores, and no more than its learners', () => {
    const devices = [{ cores: [0] }, { cores: [1, 2, 3] }]
    expect(arenasFor(2, { threads: 1, devices }, 4)).to.equal(undefined)
    expect(arenasFor(3, { threads: 1, devices }, 4)).to.deep.equal([1, 1])
    expect(arenasFor(6, { threads: 1, devices }, 4)).to.deep.equal([1, 3])
    expect(arenasFor(9, { threads: 1, devices }, 4)).to.deep.equal([1, 3])
    expect(arenasFor(9, { threads: 3, devices }, 4)).to.deep.equal([1, 1])
    // A process with the time of two cores may run on four.
    expect(arenasFor(9, { threads: 1, devices: [{ cores: [0, 1] }, { cores: [2, 3] }] }, 2)).to.deep.equal([1, 1])
    expect(arenasFor(2, { threads: 1, devices: [{ cores: [0] }] })).to.deep.equal([1])
  })

  const random = new Random(1)
  const images = (count: number) => ({
    samples: Uint8Array.from({ length: count * 28 * 28 }, () => random.below(256)),
    labels: Int32Array.from({ length: count }, (_, i) => i % 10)
  })
  const data = datasetFromArrays({ name: 'noise', sample: [1, 28, 28], classes: 10, ...images(200), test: images(20) })

  it('change no bit of what twice as many learners as cores train, under every synchronous rule', async () => {
    const finish = (options: Partial<TrainOptions>): Promise<FinishedEvent> =>
      train({ model: 'lenet', data, batch: 4, learners: 2 * cores, until: { steps: 12 }, seed: 3, ...options }).finished
    for (const name of ['sma', 'ssgd'] as const) {
      const together = await finish({ synchroniser: { name } })
      // As a learner of the user's own the built-in one has activations of its own.
      const apart = await finish({ synchroniser: { name }, learner: BUILT_IN })
      expect(together.weightsSha256, name).to.equal(apart.weightsSha256)
    }
  })

  const devices = usableProcessors()
    .slice(0, 2)
    .map((core) => ({ cores: [core] }))

  it('are shared on a device, and by no two devices', async function () {
    if (devices.length < 2) skip(this, 'a device needs a core, and this process may use only one')
    // The fake engine throws where a replica is given arenas of another device.
    const job = trainWith({ model: tinyModel(), data: tinyData(), batch: 4, devices, learners: 5, until: { steps: 12 } }, FAKES)
    expect(await job.finished).to.include({ reason: 'completed', iterations: 12 })
  })

  it('change no bit where each device has its own', async () => {
    const finish = (options: Partial<TrainOptions>): Promise<FinishedEvent> =>
      train({ model: 'lenet', data, batch: 4, devices, learners: 5, until: { steps: 12 }, seed: 3, ...options }).finished
    expect((await finish({})).weightsSha256).to.equal((await finish({ learner: BUILT_IN })).weightsSha256)
  })
})
