import type { SampleArrays } from '../../src/data/array-options.js'
import { datasetFromArrays } from '../../src/data/from-arrays.js'
import type { StoredDataset } from '../../src/data/dataset.js'
import { flatten, linear, defineModel } from '../../src/model/layers.js'
import type { Model } from '../../src/model/model.js'
import type { RunModules } from '../../src/run/run-modules.js'

/** A job's modules with the fake engine in the place of the native one. */
export const FAKES: RunModules = {
  engine: new URL('./engine.js', import.meta.url),
  learner: new URL('../../src/learner/built-in-learner.js', import.meta.url)
}

/** 60 training and 70 test samples of (1, 2, 2): neither number is a multiple of the batches used. */
export function tinyData(): StoredDataset {
  return datasetFromArrays({ name: 'tiny', sample: [1, 2, 2], classes: 3, ...samplesOf(60), test: samplesOf(70) })
}

function samplesOf(count: number): SampleArrays {
  return { samples: new Float32Array(4 * count).fill(0.5), labels: Array.from({ length: count }, (_, i) => i % 3) }
}

export function tinyModel(): Model {
  return defineModel({ name: 'tiny', input: [1, 2, 2], layers: [flatten(), linear(3)] })
}
