import { Random } from '../../../src/data/random.js'
import { datasetFromArrays, train, type FinishedEvent } from '../../../src/index.js'

/** Two steps of one learner on two coloured images each, by the model's name, and the end of the run. */
export function stepsOf(model: string, side: number): Promise<FinishedEvent> {
  const random = new Random(1)
  const images = (count: number) => ({
    samples: Uint8Array.from({ length: count * 3 * side * side }, () => random.below(256)),
    labels: Int32Array.from({ length: count }, (_, i) => i)
  })
  const data = datasetFromArrays({ name: 'noise', sample: [3, side, side], classes: 4, ...images(4), test: images(2) })
  return train({ model, data, batch: 2, learners: 1, until: { steps: 2 }, optimiser: { learningRate: 1e-4 } }).finished
}
