import { expect } from 'chai'
import { datasetFromText } from '../../src/data/datasets.js'
import { addon } from '../../src/engine/addon.js'
import { openDataset, train, type Dataset, type JobEvent, type TrainOptions } from '../../src/index.js'
import {
  batchNorm2d,
  concat,
  conv2d,
  defineModel,
  globalAvgPool,
  gru,
  linear,
  lstm,
  maxPool2d,
  relu,
  residual,
  takePosition
} from '../../src/model/layers.js'
import { DEVICE } from '../engine/support/device-training.js'
import { refused } from '../support/codes.js'
import { ifSeldom } from '../support/seldom.js'

/** The most learners of a bank, as a user gives it. */
const BANK = 'ARBALEST_CUDA_BANK'
/** A kernel that each step of a learner launches once. */
const BACKWARD = /27SoftmaxCrossEntropyBackward/

/** What the device's library tells of this process. */
interface Told {
  readonly banks: { readonly steps: number; readonly aside: number }
  /** Of each kernel by its mangled name; of the stand-in alone. */
  readonly launches?: Readonly<Record<string, number>>
}

const told = () => JSON.parse(addon().describe(DEVICE).detail) as Told
const launchesOf = ({ launches = {} }: Told, kernel: RegExp) =>
  Object.entries(launches).reduce((sum, [name, count]) => sum + (kernel.test(name) ? count : 0), 0)

/** Steps of learners of one job that are queued as one. */
describe(`The learner bank (${DEVICE})`, function () {
  this.timeout(120_000)
  let digits: Dataset
  before(async () => {
    digits = await openDataset('digits', { samples: 300 })
  })

  /** With banks of so many seats; 0: each learner by itself. */
  const run = async (seats: number | string, more: Partial<TrainOptions> = {}) => {
    const events: JobEvent[] = []
    const before = told()
    process.env[BANK] = String(seats)
    try {
      const common = { model: 'mlp', data: digits, batch: 4, learners: 3, optimiser: { learningRate: 0.02 }, until: { steps: 30 } } as const
      const job = train({ ...common, backend: DEVICE as 'cuda', ...more })
      for await (const event of job) events.push(event)
      const finished = await job.finished
      const after = told()
      return {
        finished,
        events,
        banked: after.banks.steps - before.banks.steps,
        aside: after.banks.aside - before.banks.aside,
        launched: launchesOf(after, BACKWARD) - launchesOf(before, BACKWARD)
      }
    } finally {
      delete process.env[BANK]
    }
  }

  for (const synchroniser of [
    'sma',
    { name: 'sma', lockstep: true },
    'ssgd',
    ...ifSeldom('local-sgd' as const, 'slowmo' as const),
    { name: 'parameter-server', slack: 2 }
  ] as const)
    it(`computes the bits of learners that run by themselves: ${JSON.stringify(synchroniser)}`, async () => {
      const [apart, together] = [await run(0, { synchroniser }), await run(8, { synchroniser })]
      expect(together.finished.weightsSha256).to.equal(apart.finished.weightsSha256)
      expect(apart.banked).to.equal(0)
      // Each learner takes 30 steps, the first ones of them alone. On a machine with much else to do some come late now and then.
      expect(together.banked).to.be.within(45, 87)
    })

  it('launches once for all of a bank what each learner launches by itself', async function () {
    if (DEVICE !== 'cuda-host') this.skip()
    expect(await run(0)).to.include({ launched: 90, banked: 0 })
    const { launched, banked } = await run(3)
    // Three learners a launch, but where one of them came late.
    expect(launched).to.be.within(90 - (2 / 3) * banked, 90 - banked / 2)
    // A bank of two, and the third learner by itself.
    expect((await run(2)).banked).to.be.within(30, 58)
  })

  it('does so with convolutions by tiles, whose weights’ gradients run aside, and by libraries, with attention and with recurrent layers', async () => {
    const text = await datasetFromText({ text: 'jack and jill went up the hill to fetch a pail of water. '.repeat(20), context: 16 })
    const size = { layers: 1, heads: 2, width: 16, dropout: 0.1 }
    const few = await openDataset('digits', { samples: 20 })
    const convolution = () => [conv2d(16, 3, { padding: 1, bias: false }), batchNorm2d(), relu()]
    const narrow = defineModel({
      name: 'narrow',
      input: [1, 28, 28],
      layers: [
        ...convolution(),
        maxPool2d(2),
        ...Array.from({ length: 2 }, () => residual({ body: [...convolution(), ...convolution()] })),
        globalAvgPool(),
        linear(10)
      ]
    })
    const rows = defineModel({
      name: 'rows',
      input: [28, 28],
      layers: [linear(9), concat([[lstm(5)], [gru(4, { reverse: true })]]), takePosition(0), linear(10)]
    })
    const inRows = (part: typeof digits.train): typeof part => ({ ...part, sample: rows.input })
    const digitsInRows = { ...digits, sample: rows.input, train: inRows(digits.train), test: inRows(digits.test) } as Dataset
    for (const { aside, ...more } of [
      { aside: true, model: narrow, data: few, batch: 2, learners: 2, precision: 'bf16', until: { steps: 4 } },
      { aside: false, model: 'gpt', size, data: text, learners: 2, until: { steps: 12 } },
      { aside: false, model: rows, data: digitsInRows, learners: 2, until: { steps: 12 } }
    ] as const) {
      const apart = await run(0, more)
      let together = await run(2, more)
      // On a machine with much else to do learners of few steps may come late to each of them, and then run by themselves.
      for (let again = 0; again < 4 && together.banked === 0; again++) together = await run(2, more)
      const name = typeof more.model === 'string' ? more.model : more.model.name
      expect(together.finished.weightsSha256, name).to.equal(apart.finished.weightsSha256)
      expect(together.banked, name).to.be.above(0)
      expect(together.aside > 0, name).to.equal(aside)
    }
  })

  it('makes several launches of more learners than one has room for', async () => {
    // The arguments of a launch have room for 16 programs.
    const more = { learners: 18, data: digits, until: { steps: 5 } } as const
    const [apart, together] = [await run(0, more), await run(32, more)]
    expect(together.finished.weightsSha256).to.equal(apart.finished.weightsSha256)
    expect(together.banked).to.be.above(0)
  })

  it('goes on where a learner of it dies, and with the one that takes its place', async () => {
    const text = `export default ({ replica, learner }) => {
      let steps = 0
      return async () => {
        await replica.run(1)
        if (learner < 3 && ++steps === 8 + 4 * learner) throw new Error('out of luck')
      }
    }`
    const learner = new URL(`data:text/javascript,${encodeURIComponent(text)}`)
    const { finished, events, banked } = await run(3, { learner, until: { steps: 60 } })
    expect(events.filter(({ event }) => event === 'learnerLost')).to.have.length(3)
    expect(finished).to.include({ reason: 'completed', iterations: 60, learners: 3 })
    expect(banked).to.be.above(60)
  })

  it('is refused by a number that is none', async () => {
    const error = await refused('INVALID_OPTION', () => run('many'))
    expect(error.message).to.match(/^ARBALEST_CUDA_BANK: received many; give the most learners of a bank/)
  })
})
