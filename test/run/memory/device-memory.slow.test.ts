import { expect } from 'chai'
import { usableCores } from '../../../src/engine/machine.js'
import { datasetFromText, gpt, openDataset, type Dataset, type TrainOptions } from '../../../src/index.js'
import { limitedRun, limitsOf } from '../support/limited-run.js'

const RHYME = 'jack and jill went up the hill to fetch a pail of water. '
const text = await datasetFromText({ text: RHYME.repeat(60), context: 48 })
const digits: Dataset = await openDataset('digits', { samples: 400 })
const steps = { until: { steps: 4 }, learners: 1, seed: 5 } as const

const transformer = gpt({ input: text.sample, classes: text.classes }, { layers: 4, heads: 2, width: 32, dropout: 0.1 })
/** The stand-in computes slowly. */
const behindGpu = { until: { steps: 2 }, backend: 'cuda-host' as never } as const

const CASES: Readonly<Record<string, TrainOptions>> = {
  lenet: { ...steps, model: 'lenet', data: digits, batch: 32 },
  'resnet20, with batch norm': { ...steps, model: 'resnet20', data: digits, batch: 16 },
  resnet50: { ...steps, until: { steps: 2 }, model: 'resnet50', data: digits, batch: 8 },
  'resnet20, accumulated': { ...steps, model: 'resnet20', data: digits, batch: 8, optimiser: { accumulate: 3 } },
  'resnet20, by learners that share arenas': { ...steps, model: 'resnet20', data: digits, batch: 8, learners: 2 * usableCores() },
  'resnet20, by learners that wait for each other': {
    ...steps,
    model: 'resnet20',
    data: digits,
    batch: 8,
    learners: 2,
    synchroniser: 'ssgd'
  },
  'gpt, with dropout': { ...steps, model: transformer, data: text, batch: 16 },
  'gpt, accumulated': { ...steps, model: transformer, data: text, batch: 8, optimiser: { accumulate: 3 } },
  'gpt, by learners that share arenas': { ...steps, model: transformer, data: text, batch: 8, learners: 2 * usableCores() },
  'resnet20, behind a GPU': { ...steps, ...behindGpu, model: 'resnet20', data: digits, batch: 3 },
  'gpt, behind a GPU': { ...steps, ...behindGpu, model: transformer, data: text, batch: 2 }
}

describe('device memory of models of the zoo', function () {
  this.timeout(300_000)

  for (const [name, options] of Object.entries(CASES))
    it(`changes no bit of the weights at three quarters, half and a quarter of what may be saved, and at the least: ${name}`, async () => {
      const { whole, limits } = await limitsOf(options, [0.75, 0.5, 0.25, 0])
      for (const deviceMemory of limits) {
        const { finished } = await limitedRun({ ...options, deviceMemory })
        expect(finished.peakDeviceBytes).to.be.at.most(deviceMemory)
        expect(finished.weightsSha256).to.equal(whole.finished.weightsSha256)
      }
    })
})
