import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  defineModel,
  flatten,
  linear,
  openDataset,
  relu,
  train,
  type ArbalestError,
  type Dataset,
  type JobEvent,
  type TrainOptions
} from '../../src/index.js'
import { usableCores } from '../../src/engine/machine.js'
import type { ReplicaSpec } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { evaluatorCount } from '../../src/actors/evaluators.js'
import { refused } from '../support/codes.js'
import { ifSeldom } from '../support/seldom.js'

/** Runs `does` after each step, with what it wants of the job. */
function learnerThat(does: string): URL {
  const text = `export default ({ replica, rank, learner }) => {
      let steps = 0
      return async () => { await replica.run(1); steps++; ${does} }
    }`
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`)
}

const COMMON = { model: 'mlp', batch: 4, learners: 3, optimiser: { learningRate: 0.02 }, until: { steps: 30 } } as const

/** On the stand-in's four devices, each with memory that the others cannot reach but through the collective. */
describe('A job on several GPUs (cuda-host)', function () {
  this.timeout(120_000)
  let data: Dataset
  let folder: string
  before(async () => {
    data = await openDataset('digits', { samples: 300 })
    folder = mkdtempSync(join(tmpdir(), 'gpus-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const run = async (more: Partial<TrainOptions>) => {
    const events: JobEvent[] = []
    const job = train({ ...COMMON, data, backend: 'cuda-host' as 'cuda', ...more })
    for await (const event of job) events.push(event)
    return { finished: await job.finished, events }
  }

  for (const synchroniser of ['sma', 'ssgd', 'local-sgd'] as const)
    it(`learns what one learns, and the same bits every time: ${synchroniser}`, async () => {
      const { finished: alone } = await run({ synchroniser })
      for (const devices of [...ifSeldom(2), 3]) {
        const [first, again] = [await run({ synchroniser, devices }), await run({ synchroniser, devices })]
        expect(first.finished.weightsSha256).to.equal(again.finished.weightsSha256)
        expect(first.finished.testLoss).to.be.closeTo(alone.testLoss, 0.02)
        expect(first.events.find(({ event }) => event === 'levels')).to.deep.include({
          levels: ['devices'],
          devices: Array.from({ length: devices }, () => [])
        })
      }
      expect(alone.testLoss).to.be.below(2.2)
    })

  it('goes on where a learner of each GPU dies, with another on the same one', async () => {
    const learner = learnerThat(`if (steps === 5 + 4 * learner && learner < 3) throw new Error('out of luck')`)
    const { finished, events } = await run({ learner, devices: 3, until: { steps: 40 } })
    const lost = events.flatMap((event) => (event.event === 'learnerLost' ? [event.rank] : []))
    expect(lost).to.have.members([0, 1, 2])
    expect(finished).to.include({ reason: 'completed', iterations: 40, learners: 3 })
  })

  it('goes on from its checkpoint to the bit', async () => {
    for (const [devices, synchroniser] of [
      [2, 'ssgd'],
      [3, 'sma']
    ] as const) {
      const dir = join(folder, `${synchroniser}-${devices}`)
      const more = { devices, synchroniser, average: { name: 'ema', decay: 0.9 } } as const
      const { finished: whole } = await run({ ...more, checkpoint: { dir, period: 10, keep: 100 } })
      for (const later of readdirSync(dir).sort().slice(1)) rmSync(join(dir, later), { recursive: true })
      const { finished: resumed, events } = await run({ ...more, checkpoint: { dir, period: 10 } })
      expect(events.find(({ event }) => event === 'resumed')).to.include({ iteration: 10 })
      expect(resumed.weightsSha256).to.equal(whole.weightsSha256)
    }
  })

  it('is held to what its devices have free, whatever the machine has', async () => {
    // A learner of it takes far more than other tests may still hold there.
    const model = defineModel({
      name: 'wide',
      input: [1, 28, 28],
      layers: [flatten(), linear(2000), relu(), linear(2000), relu(), linear(10)]
    })
    const held = async (mebibytes: number, more: Partial<TrainOptions>) => {
      process.env['ARBALEST_CUDA_HOST_MEMORY'] = String(mebibytes * 2 ** 20)
      try {
        return await run({ model, ...more, until: { steps: 2 } })
      } finally {
        delete process.env['ARBALEST_CUDA_HOST_MEMORY']
      }
    }
    const { events } = await held(4096, { dryRun: true })
    const { bytesFree, bytesPerLearner, bytesShared } = events.find((event) => event.event === 'planned')!
    expect(bytesFree).to.be.within(2 ** 31, 2 ** 32)
    // Room for one learner a device, and half of another.
    const room = (bytesShared + 1.5 * bytesPerLearner + 2 ** 32 - bytesFree) / 2 ** 20
    const error = await refused('OUT_OF_MEMORY', () => held(room, { learners: 3 }))
    expect(error.message).to.match(/^learners: received 3; each takes .*; use at most 1, or a smaller batch$/)
    const spread = await held(3 * room, { learners: 3, devices: 3 })
    expect(spread.finished).to.include({ reason: 'completed', iterations: 2 })
  })

  it('is measured by a replica on each GPU, which keeps it busy', async () => {
    expect(evaluatorCount(engine, 'cuda-host', { learners: 8 })).to.equal(1)
    expect(evaluatorCount(engine, 'cuda-host', { learners: 8, devices: 3 })).to.equal(3)
    expect(evaluatorCount(engine, 'cpu', { learners: 8, devices: 3 })).to.equal(Math.min(8, usableCores()))
    // Enough test samples for each to have a share.
    const many = await openDataset('digits', { samples: 3000 })
    // The first GPU alone has the evaluation average. By one replica afterwards the model is as good, whichever samples each has measured.
    for (const more of [{}, { average: { name: 'ema', decay: 0.9 } }] as const) {
      const { createReplica } = engine
      const devices: (number | undefined)[] = []
      // Learners make theirs in threads of their own.
      Object.assign(engine, {
        createReplica: (options: ReplicaSpec) => {
          devices.push(options.device)
          return createReplica(options)
        }
      })
      const job = train({ ...COMMON, data: many, backend: 'cuda-host' as 'cuda', devices: 3, ...more })
      const { testLoss, testAccuracy } = await job.finished.finally(() => Object.assign(engine, { createReplica }))
      expect(devices).to.deep.equal([0, 1, 2])
      const again = await job.model.evaluate(many)
      expect(again.testLoss).to.be.closeTo(testLoss, 1e-5)
      expect(again.testAccuracy).to.equal(testAccuracy)
    }
  })

  it('is refused where it wants more than there are', async () => {
    const error = await refused('INVALID_OPTION', () => run({ devices: 5, learners: 5 }))
    expect(error.message).to.equal('devices: received 5; the backend has 4 here: give at most as many')
  })

  for (const [how, fault] of [
    ['in the middle of a sum', '1:25'],
    ['before it brings its part of a sum', '1:25:device'],
    ['before it brings its part, and is the one that adds up', '0:25:device'],
    ['as a sum is queued on it, behind one that waits for it', '1:25:launch'],
    ['as the first sum is queued on it', '1:0:launch']
  ] as const)
    it(`ends with the cause where one fails ${how}, and with the checkpoint before it whole`, async () => {
      const [rank, sum] = fault.split(':')
      const checkpoint = { dir: join(folder, `failed-${fault.replaceAll(':', '-')}`), period: 10 }
      process.env['ARBALEST_CUDA_HOST_FAULT'] = fault
      let error: ArbalestError
      try {
        // The job itself meets the failure of the first sum, learners that of a later one.
        error = await refused(sum === '0' ? 'DEVICE_FAILED' : 'LEARNER_FAILED', () => run({ devices: 3, checkpoint }))
      } finally {
        delete process.env['ARBALEST_CUDA_HOST_FAULT']
      }
      expect(error.message).to.include(`device ${rank}: it failed, as it was told to`)
      const { events } = await run({ devices: 3, checkpoint })
      expect(events.filter(({ event }) => event === 'resumed')).to.have.length(sum === '0' ? 0 : 1)
    })
})
