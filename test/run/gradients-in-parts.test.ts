import { expect } from 'chai'
import { addon } from '../../src/engine/addon.js'
import {
  conv2d,
  defineModel,
  flatten,
  linear,
  maxPool2d,
  openDataset,
  relu,
  train,
  type Dataset,
  type TrainOptions
} from '../../src/index.js'
import { refused } from '../support/codes.js'

/** Layers whose gradients of weights are 1.8, 1.4 and 0.02 MiB. */
const MODEL = defineModel({
  name: 'wide',
  input: [1, 28, 28],
  layers: [flatten(), linear(600), relu(), linear(600), relu(), linear(10)]
})

/** Gradients of 2.4 MiB, which run beside the rest of a recorded step. */
const CONVOLUTIONS = defineModel({
  name: 'deep',
  input: [1, 28, 28],
  layers: [
    conv2d(64, 3, { padding: 1 }),
    maxPool2d(7),
    ...Array.from({ length: 16 }, () => [conv2d(64, 3, { padding: 1 }), relu()]).flat(),
    flatten(),
    linear(10)
  ]
})

/** What the stand-in tells of this process. */
interface Told {
  /** That have been made. */
  readonly recordings: number
  /** Of the host, for a stream that has run recordings since the wait before. */
  readonly waits: number
  /** Of each kernel. */
  readonly launches: Readonly<Record<string, number>>
}

const STEPS = 8

const told = () => JSON.parse(addon().describe('cuda-host').detail) as Told
const readbacks = () =>
  Object.entries(told().launches).reduce((sum, [kernel, count]) => sum + (kernel.includes('8ReadBackE') ? count : 0), 0)

/** A recorded step whose gradients go to other devices is several recordings. */
describe('Gradients that leave a GPU while backward runs (cuda-host)', function () {
  this.timeout(120_000)
  let data: Dataset
  before(async () => {
    data = await openDataset('digits', { samples: 300 })
  })

  const run = async (more: Partial<TrainOptions>, environment: Readonly<Record<string, string>> = {}) => {
    const [before, readbacksBefore] = [told(), readbacks()]
    Object.assign(process.env, environment)
    try {
      const common = { model: MODEL, data, batch: 4, learners: 2, devices: 2, optimiser: { learningRate: 0.02 }, until: { steps: STEPS } }
      const { weightsSha256 } = await train({ ...common, backend: 'cuda-host' as 'cuda', ...more }).finished
      const { recordings, waits } = told()
      return {
        weightsSha256,
        recorded: recordings - before.recordings,
        waits: waits - before.waits,
        readBack: readbacks() - readbacksBefore
      }
    } finally {
      for (const name of Object.keys(environment)) delete process.env[name]
    }
  }

  it('leave in as many parts as have an eighth of them, the last one with what is left', async () => {
    // Backward completes nine gradients of 1.4 MB and then one of 1.9 MB: four parts have two of them each, and the last one has the rest.
    const layers = [flatten(), ...Array.from({ length: 10 }, () => [linear(600), relu()]).flat(), linear(10)]
    const deep = defineModel({ name: 'deep', input: [1, 28, 28], layers })
    const parts = await run({ synchroniser: 'ssgd', model: deep, until: { steps: 3 } })
    const whole = await run({ synchroniser: 'ssgd', model: deep, until: { steps: 3 } }, { ARBALEST_CUDA_PARTS: '0' })
    expect(parts.weightsSha256).to.equal(whole.weightsSha256)
    expect(parts.recorded).to.equal(2 * 5)
  })

  for (const more of [
    { synchroniser: 'ssgd' },
    { synchroniser: 'ssgd', optimiser: { learningRate: 0.02, accumulate: 3 }, until: { steps: 5 } },
    { synchroniser: 'ssgd', optimiser: { learningRate: 0.02, clipNorm: 0.5 } },
    { synchroniser: { name: 'parameter-server', slack: 2 } },
    { synchroniser: 'ssgd', learners: 3, precision: 'bf16' },
    { synchroniser: 'ssgd', model: CONVOLUTIONS, precision: 'bf16', batch: 2, until: { steps: 3 } }
  ] as const)
    it(`computes the bits of one recording a step: ${'model' in more ? more.model.name : JSON.stringify(more)}`, async () => {
      const [parts, whole] = [await run(more), await run(more, { ARBALEST_CUDA_PARTS: '0' })]
      expect(parts.weightsSha256).to.equal(whole.weightsSha256)
      const learners = 'learners' in more ? more.learners : 2
      expect(whole.recorded).to.equal(learners)
      // One as far as the gradients of the upper layers, and one of the lower layers.
      expect(parts.recorded).to.equal(2 * learners)
    })

  it('are the same whether the host has the loss before the end of the step or after it', async () => {
    for (const [synchroniser, parts] of [
      ['sma', 1],
      ['ssgd', 2]
    ] as const) {
      const steps = { synchroniser, learners: 3 }
      const [early, late] = [await run(steps), await run(steps, { ARBALEST_CUDA_READBACK: '0' })]
      expect(late.weightsSha256).to.equal(early.weightsSha256)
      // Of each step but a learner's first one.
      expect([early.readBack, late.readBack]).to.deep.equal([3 * (STEPS - 1), 0])
      // The host waits for no step, but for the last one when a learner is closed. Without a readback it waits for the part of each step that
      // has the loss, and for a part behind it when a learner is closed.
      expect([early.waits, late.waits]).to.deep.equal([3, 3 * (STEPS - 1) + (parts > 1 ? 3 : 0)])
    }
  })

  it('is for steps whose gradients go to other devices, and are not a bank’s', async () => {
    for (const [more, environment] of [
      [{ synchroniser: 'sma' }, {}],
      [{ synchroniser: 'ssgd', devices: 1 }, {}],
      [{ synchroniser: 'ssgd', model: 'mlp' }, {}],
      [{ synchroniser: 'ssgd' }, { ARBALEST_CUDA_BANK: '2' }]
    ] as const)
      expect((await run(more, environment)).recorded, JSON.stringify([more, environment])).to.equal(2)
  })

  it('stops at a loss that is no number, and goes on from its start with a lower rate', async () => {
    const optimiser = { learningRate: 1e30, momentum: 0 }
    await refused('LOSS_NOT_FINITE', () => run({ synchroniser: 'ssgd', optimiser }), 'learningRate')
    await run({ synchroniser: 'ssgd', optimiser, onNaN: { learningRateFactor: 2 ** -110, retries: 1 } })
  })
})
