import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { StoredDataset } from '../../src/data/dataset.js'
import { openDataset } from '../../src/data/open.js'
import { batchNorm2d, conv2d, defineModel, globalAvgPool, linear, relu, residual } from '../../src/model/layers.js'
import type { Layer } from '../../src/model/layer.js'
import type { Model } from '../../src/model/model.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import { train, trainWith } from '../../src/run/train.js'
import { refused } from '../support/codes.js'
import { ifSeldom } from '../support/seldom.js'

const TRAIN = new URL('../../src/run/train.js', import.meta.url)

/** The share of right answers that a job's trained model gives when it is asked sample by sample. */
async function accuracy(predict: (batch: Uint8Array) => Promise<Float32Array>, { test, classes }: StoredDataset): Promise<number> {
  const outputs = await predict(test.samples as Uint8Array)
  let right = 0
  for (let i = 0; i < test.count; i++) {
    const logits = outputs.subarray(i * classes, (i + 1) * classes)
    if (logits.indexOf(Math.max(...logits)) === test.labels![i]) right++
  }
  return right / test.count
}

/** Small, with all that makes measuring an average hard: batch norm, a residual block, odd channels. */
function normed(): Model {
  const block = residual({ body: [...conv(12), relu(), ...conv(12)] })
  return defineModel({
    name: 'normed',
    input: [1, 28, 28],
    layers: [...conv(12, 2), relu(), block, ...conv(20, 2), relu(), globalAvgPool(), linear(10)]
  })
}

function conv(filters: number, stride = 1): Layer[] {
  return [conv2d(filters, 3, { padding: 1, stride, bias: false }), batchNorm2d()]
}

/** A program of its own that trains and says how that ended. */
function program(options: string): string {
  return `
    import { train } from '${TRAIN.href}'
    const job = train({ model: 'logistic-regression', data: 'digits', learners: 2, ${options} })
    console.log(await job.finished.then(({ event }) => event, ({ code }) => code))`
}

describe('training on the native engine', () => {
  let data: StoredDataset
  before(async () => (data = await openDataset('digits', { samples: 2000 })))

  it('learns, and predicts exactly as it was measured', async () => {
    const job = train({
      model: 'mlp',
      data,
      learners: 2,
      batch: 16,
      until: { epochs: 4 },
      optimiser: { learningRate: 0.02, milestones: [] }
    })
    const { testAccuracy, epochs, iterations } = await job.finished
    expect([epochs, iterations]).to.deep.equal([4, 250])
    expect(testAccuracy).to.be.greaterThan(0.8)
    expect(await accuracy((batch) => job.model.predict(batch), data)).to.equal(testAccuracy)
  })

  it('learns with batch norm, whose statistics the average never had', async () => {
    const job = train({
      model: normed(),
      data,
      learners: 2,
      batch: 16,
      until: { epochs: 4 },
      optimiser: { learningRate: 0.05, milestones: [] }
    })
    const { testAccuracy } = await job.finished
    expect(testAccuracy).to.be.greaterThan(0.7)
    expect(await accuracy((batch) => job.model.predict(batch), data)).to.equal(testAccuracy)
  })

  for (const learners of [...ifSeldom(1, 2), 3]) {
    it(`gives the same weights for the same seed with ${learners} learners, for any rhythm of the threads`, async () => {
      const options: TrainOptions = {
        model: normed(),
        data,
        learners,
        batch: 8,
        until: { steps: 30 },
        synchroniser: { period: 2, syncMomentum: 0.3 },
        seed: 5
      }
      const hashes = new Set<string>()
      // Twice alone, then twice at once, so that the threads disturb each other.
      for (const jobs of [1, 1, 2]) {
        const finished = await Promise.all(Array.from({ length: jobs }, () => train(options).finished))
        for (const { weightsSha256 } of finished) hashes.add(weightsSha256)
      }
      expect(hashes.size).to.equal(1)
      expect((await train({ ...options, seed: 6 }).finished).weightsSha256).to.not.equal([...hashes][0])
    })
  }

  it('stops at a round, in the middle of an epoch', async () => {
    const job = train({ model: 'lenet', data, learners: 2, batch: 16, until: { epochs: 1000 } })
    job.once('progress', () => job.stop())
    const { reason, iterations } = await job.finished
    expect(reason).to.equal('stopped')
    expect(iterations).to.be.greaterThan(0)
  })

  it('names the iteration in which the loss was no number any more', async () => {
    const job = train({ model: 'mlp', data, learners: 2, batch: 16, until: { epochs: 50 }, optimiser: { learningRate: 1e6 } })
    const error = await refused('LOSS_NOT_FINITE', () => job.finished, 'learningRate', 'iteration')
    expect(error.data['iteration']).to.be.greaterThan(0)
  })

  for (const how of ['throw', 'exit']) {
    it(`ends within two seconds when a learner fails by ${how} in the middle of training`, async () => {
      const learner = new URL(`../fakes/failing-learner.js?how=${how}`, import.meta.url)
      const job = trainWith(
        { model: 'lenet', data, learners: 2, batch: 8, until: { epochs: 1000 }, supervision: { restarts: 0 } },
        { learner }
      )
      await new Promise((resolve) => job.once('started', resolve))
      const began = performance.now()
      await refused('LEARNER_FAILED', () => job.finished, 'learner ')
      expect(performance.now() - began).to.be.lessThan(2000)
    })
  }

  it('lets the process end by itself afterwards, also when it fails', async () => {
    for (const [options, printed] of [
      ['until: { steps: 20 }', 'finished'],
      ['until: { epochs: 9 }, optimiser: { learningRate: 1e38 }', 'LOSS_NOT_FINITE']
    ] as const) {
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program(options)], { timeout: 60_000 })
      expect(stdout.trim()).to.equal(printed)
    }
  })
})
