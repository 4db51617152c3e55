import { Random } from '../../../src/data/random.js'
import { datasetFromArrays, type TrainOptions } from '../../../src/index.js'
import { defineModel, globalAvgPool, linear } from '../../../src/model/layers.js'
import { forgetfulLayers } from '../../support/forgetful-layers.js'

const model = defineModel({ name: 'forgetful', input: [1, 12, 12], layers: [...forgetfulLayers(), globalAvgPool(), linear(5)] })

const random = new Random(1)
const images = (count: number) => ({
  samples: Uint8Array.from({ length: count * 144 }, () => random.below(256)),
  labels: Int32Array.from({ length: count }, (_, i) => i % 5)
})
const data = datasetFromArrays({ name: 'noise', sample: [1, 12, 12], classes: 5, ...images(120), test: images(10) })
/** A run of a model whose values are hard to compute again. */
export const FORGETFUL = { model, data, batch: 24, learners: 1, until: { steps: 3 }, seed: 3 } as const satisfies TrainOptions
