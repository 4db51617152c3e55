import { Random } from '../../../src/data/random.js'
import { datasetFromArrays, type TrainOptions } from '../../../src/index.js'
import { batchNorm2d, conv2d, defineModel, dropout, globalAvgPool, linear, maxPool2d, relu, residual } from '../../../src/model/layers.js'

const block = () => residual({ body: [conv2d(8, 3, { padding: 1 }), batchNorm2d(), relu(), conv2d(8, 3, { padding: 1 }), batchNorm2d()] })
const model = defineModel({
  name: 'forgetful',
  input: [1, 12, 12],
  layers: [
    conv2d(8, 3, { padding: 1 }),
    batchNorm2d(),
    relu(),
    block(),
    dropout(0.3),
    block(),
    maxPool2d(2),
    block(),
    globalAvgPool(),
    linear(5)
  ]
})

const random = new Random(1)
const images = (count: number) => ({
  samples: Uint8Array.from({ length: count * 144 }, () => random.below(256)),
  labels: Int32Array.from({ length: count }, (_, i) => i % 5)
})
const data = datasetFromArrays({ name: 'noise', sample: [1, 12, 12], classes: 5, ...images(120), test: images(10) })
/** A run of a model that has what is hard to compute again: batch norm, dropout, sums of branches. */
export const FORGETFUL = { model, data, batch: 24, learners: 1, until: { steps: 3 }, seed: 3 } as const satisfies TrainOptions
