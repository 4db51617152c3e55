import { expect } from 'chai'
import { Random } from '../../../src/data/random.js'
import {
  batchNorm2d,
  conv2d,
  datasetFromArrays,
  defineModel,
  flatten,
  globalAvgPool,
  linear,
  maxPool2d,
  relu,
  residual,
  type Dataset,
  type Model,
  type TrainOptions
} from '../../../src/index.js'
import { elements } from '../../../src/model/graph.js'
import { seldom } from '../../support/seldom.js'
import { limitedRun, limitsOf } from '../support/limited-run.js'

const random = new Random(1)
function noise(sample: readonly number[]): Dataset {
  const images = (count: number) => ({
    samples: Uint8Array.from({ length: count * elements(sample) }, () => random.below(256)),
    labels: Int32Array.from({ length: count }, (_, i) => i % 5)
  })
  return datasetFromArrays({ name: 'noise', sample, classes: 5, ...images(60), test: images(10) })
}

const convolution = (width: number) => [conv2d(width, 3, { padding: 1, bias: false }), batchNorm2d(), relu()]

/** Convolutions of our own kernels in bfloat16, whose gradients of weights run on the side branch. */
const narrow = defineModel({
  name: 'narrow',
  input: [3, 16, 16],
  layers: [
    ...convolution(16),
    ...Array.from({ length: 3 }, () => residual({ body: [...convolution(16), ...convolution(16)] })),
    globalAvgPool(),
    linear(5)
  ]
})

/** Gradients of 4 MiB, which would leave in three parts; what is fetched for the convolutions would be on its way from one part to the next. */
const wide = defineModel({
  name: 'wide',
  input: [1, 64, 64],
  layers: [
    ...Array.from({ length: 3 }, () => [conv2d(16, 3, { padding: 1, bias: false }), relu()]).flat(),
    maxPool2d(8),
    flatten(),
    ...Array.from({ length: 3 }, () => [linear(512), relu()]).flat(),
    linear(5)
  ]
})

const base = {
  data: noise([3, 16, 16]),
  batch: 4,
  learners: 1,
  seed: 3,
  until: { steps: 3 },
  backend: 'cuda-host' as never
} as const satisfies Partial<TrainOptions>

const CASES: Readonly<Record<string, Partial<TrainOptions> & { readonly model: Model }>> = {
  ...(seldom.tested && { 'gradients of weights on the side branch': { model: narrow, precision: 'bf16' } }),
  'gradients of weights that move, too': { model: narrow, precision: 'bf16', optimiser: { name: 'adamw', learningRate: 0.01 } },
  'gradients that other devices wait for': {
    model: wide,
    data: noise([1, 64, 64]),
    learners: 2,
    devices: 2,
    synchroniser: 'ssgd',
    batch: 2
  }
}

/** Copies run beside kernels, which must not use their memory. */
describe('values that move between a GPU and its host', function () {
  this.timeout(120_000)

  for (const [name, options] of Object.entries(CASES))
    it(`leave every bit of the weights as it is, beside ${name}`, async () => {
      const given: TrainOptions = { ...base, ...options }
      const { whole, limits } = await limitsOf(given, [0, 0.3])
      let moved = 0
      for (const deviceMemory of limits) {
        const { started, finished } = await limitedRun({ ...given, deviceMemory })
        moved += started.movedBytes ?? 0
        expect(finished.weightsSha256).to.equal(whole.finished.weightsSha256)
      }
      expect(moved).to.be.above(0)
    })
})
