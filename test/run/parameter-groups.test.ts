import { join } from 'node:path'
import { expect } from 'chai'
import {
  batchNorm2d,
  conv2d,
  defineModel,
  flatten,
  linear,
  maxPool2d,
  openDataset,
  relu,
  train,
  type FinishedEvent,
  type OptimiserOptions,
  type TrainOptions
} from '../../src/index.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'

const model = defineModel({
  name: 'grouped',
  input: [1, 28, 28],
  layers: [conv2d(6, 5), batchNorm2d(), relu(), maxPool2d(4), flatten(), linear(20, { frozen: true }), relu(), linear(10)]
})
const OPTIMISER = { learningRate: 0.05, weightDecay: 0.3, milestones: [100] } as const
const UNDECAYED = [{ parameters: 'vectors', weightDecay: 0 }] as const
/** Groups that have the numbers of all. */
const ALIKE = [{ parameters: ['linear2', 'conv1.*'], weightDecay: 0.3 }, { parameters: 'vectors' }] as const

interface Options extends Partial<TrainOptions> {
  readonly optimiser?: OptimiserOptions
}

async function finished(groups: OptimiserOptions['groups'], options: Options = {}): Promise<FinishedEvent> {
  const data = await openDataset('digits', { samples: 600 })
  const optimiser = { ...OPTIMISER, ...options.optimiser, ...(groups && { groups }) }
  return train({ model, data, learners: 2, batch: 8, until: { steps: 12 }, seed: 9, ...options, optimiser }).finished
}

describe('groups of parameters in training', () => {
  const rows: readonly Options[] = [
    {},
    { synchroniser: 'ssgd', optimiser: { name: 'adamw', clipNorm: 1 } },
    { synchroniser: 'eamsgd', backend: 'cuda-host' as 'cuda' },
    { optimiser: { name: 'lars' }, learners: 1, backend: 'reference' }
  ]
  for (const options of rows)
    it(`change no bit where their numbers are those of all: ${JSON.stringify(options)}`, async () => {
      const hashOf = async (groups: OptimiserOptions['groups']) => (await finished(groups, options)).weightsSha256
      const without = await hashOf(undefined)
      expect(await hashOf(ALIKE)).to.equal(without)
      expect(await hashOf(UNDECAYED)).to.not.equal(without)
    })

  for (const name of ['sma', 'eamsgd'] as const)
    it(`have the steps of a run of their learning rate, under ${name}`, async () => {
      const options = { synchroniser: name, optimiser: { nesterov: true } }
      const twice = await finished([{ parameters: ['*'], learningRate: { factor: 2 } }], options)
      const alone = await finished(undefined, { ...options, optimiser: { nesterov: true, learningRate: 2 * OPTIMISER.learningRate } })
      expect(twice.weightsSha256).to.equal(alone.weightsSha256)
    })

  it('go on from a checkpoint, and not from one of other groups', async () => {
    await using folder = await Folder.make()
    const checkpoint = join(folder.path, 'run')
    await finished(UNDECAYED, { checkpoint, until: { steps: 6 } })
    const words = 'optimiser.groups[0].weightDecay: received 0.1; the checkpoint'
    await refused('INVALID_OPTION', () => finished([{ parameters: 'vectors', weightDecay: 0.1 }], { checkpoint }), words, 'made with 0:')
    const { weightsSha256, iterations } = await finished(UNDECAYED, { checkpoint })
    expect(iterations).to.equal(12)
    expect(weightsSha256).to.equal((await finished(UNDECAYED)).weightsSha256)
  })

  it('are refused where a name is of no parameter, or a number of no use', async () => {
    const fault = (groups: unknown, code: 'INVALID_OPTION' | 'UNKNOWN_NAME', ...words: string[]) =>
      refused(code, () => finished(groups as OptimiserOptions['groups']), ...words)
    await fault([{ parameters: ['linear3'] }], 'UNKNOWN_NAME', 'optimiser.groups[0].parameters: received "linear3"', 'linear2')
    const twice = [{ parameters: ['conv*', 'linear2'] }, { parameters: ['linear2.bias'], weightDecay: 0 }]
    await fault(twice, 'INVALID_OPTION', 'optimiser.groups[1]: received {"parameters":["linear2.bias"],"weightDecay":0}', 'put it first')
    await fault([{ parameters: 'scalars' }], 'INVALID_OPTION', 'optimiser.groups[0].parameters', "'vectors', or a list")
    await fault([{ parameters: 'vectors', weightDecay: -1 }], 'INVALID_OPTION', 'optimiser.groups[0].weightDecay')
    await fault([{ parameters: 'vectors', learningRate: 2 }], 'INVALID_OPTION', 'optimiser.groups[0].learningRate', 'give { factor: 0.1 }')
    await fault([{ parameters: 'vectors', lr: 2 }], 'INVALID_OPTION', 'optimiser.groups[0].lr: received 2; use learningRate')
    await fault([{ parameters: 'vectors', weight_decay: 0 }], 'INVALID_OPTION', 'groups[0].weight_decay: received 0; use weightDecay')
  })
})
