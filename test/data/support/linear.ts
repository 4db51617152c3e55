import type { StoredDataset } from '../../../src/data/dataset.js'

/**
 * Test accuracy of a softmax regression after some epochs of plain stochastic gradient descent, one sample at a time, on grey images as
 * bytes.
 */
export function linearAccuracy({ train, test, classes, mean, std }: StoredDataset, epochs: number, rate = 0.0005): number {
  const pixels = train.samples.length / train.count
  const weights = new Float64Array(classes * (pixels + 1))
  const scores = new Float64Array(classes)
  const x = new Float64Array(pixels + 1).fill(1)

  const load = (samples: ArrayLike<number>, index: number): void => {
    for (let i = 0; i < pixels; i++) x[i] = (samples[index * pixels + i]! / 255 - mean[0]!) / std[0]!
  }
  const score = (): void => {
    for (let c = 0; c < classes; c++) {
      let sum = 0
      for (let i = 0, w = c * x.length; i < x.length; i++, w++) sum += weights[w]! * x[i]!
      scores[c] = sum
    }
  }

  for (let step = 0; step < epochs * train.count; step++) {
    const index = step % train.count
    load(train.samples, index)
    score()
    const highest = Math.max(...scores)
    const total = scores.reduce((sum, s) => sum + Math.exp(s - highest), 0)
    for (let c = 0; c < classes; c++) {
      const error = Math.exp(scores[c]! - highest) / total - (c === train.labels![index] ? 1 : 0)
      for (let i = 0, w = c * x.length; i < x.length; i++, w++) weights[w]! -= rate * error * x[i]!
    }
  }

  let correct = 0
  for (let index = 0; index < test.count; index++) {
    load(test.samples, index)
    score()
    if (scores.indexOf(Math.max(...scores)) === test.labels![index]) correct++
  }
  return correct / test.count
}
