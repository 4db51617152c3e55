import { expect } from 'chai'
import { usableCores } from '../../src/engine/machine.js'
import { Random } from '../../src/data/random.js'
import { datasetFromArrays, train, type FinishedEvent, type TrainOptions } from '../../src/index.js'
import { arenasFor, sharedArenas } from '../../src/training/shared-arenas.js'

const BUILT_IN = new URL('../../src/actors/native-learner.js', import.meta.url)

describe('arenas of activations', function () {
  this.timeout(120_000)
  const cores = usableCores()

  it('are shared by learners that cannot all compute at once', () => {
    expect(arenasFor(cores + 1, { threads: 1 })).to.equal(cores)
    expect(arenasFor(cores, { threads: 1 })).to.equal(undefined)
    expect(arenasFor(2, { threads: 2 * cores })).to.equal(1)
    expect(arenasFor(cores + 1, { threads: 1, own: true })).to.equal(undefined)
    const population = { schedule: [{ round: 0, learners: 1 }], tuning: undefined }
    const plain = { learner: undefined, threads: 1, trace: undefined, backend: 'cpu' } as const
    expect(sharedArenas({ ...plain, population })).to.equal(undefined)
    const crowd = { ...plain, population: { schedule: [{ round: 0, learners: cores + 1 }], tuning: undefined } }
    expect(sharedArenas(crowd)).to.equal(cores)
    // Steps that are told in their segments need arenas of their learner's own.
    expect(sharedArenas({ ...crowd, trace: { file: 'trace.json', steps: 20 } })).to.equal(undefined)
    expect(sharedArenas({ ...crowd, trace: { file: 'trace.json', steps: 0 } })).to.equal(cores)
    // What one has queued on a GPU may run while the next one queues.
    expect(sharedArenas({ ...crowd, backend: 'cuda' })).to.equal(undefined)
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
})
