import { train, type StoredDataset, type FinishedEvent } from 'arbalest'
import type { Curriculum } from './learner.js'

/** Trains a linear model to rank the samples by difficulty, then a LeNet on easy samples first. */
export async function teach(data: StoredDataset, { epochs = 2 } = {}): Promise<{ order: Int32Array; finished: FinishedEvent }> {
  const judge = train({ model: 'logistic-regression', data, until: { epochs: 1 } })
  await judge.finished
  const order = easiestFirst(await judge.model.predict(data.train.samples), data.train.labels!)
  const learnerOptions: Curriculum = { order, first: 0.3, complete: 0.5 }
  const job = train({ model: 'lenet', data, until: { epochs }, learner: new URL('./learner.js', import.meta.url), learnerOptions })
  return { order, finished: await job.finished }
}

/** The numbers of the samples, sorted by the cross-entropy of their logits (N, K), the smallest first. */
export function easiestFirst(logits: Float32Array, labels: Int32Array): Int32Array {
  const classes = logits.length / labels.length
  const losses = Float64Array.from(labels, (label, sample) => {
    const row = logits.subarray(sample * classes, (sample + 1) * classes)
    return Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - row[label]!), 0))
  })
  const order = new Int32Array(new SharedArrayBuffer(4 * labels.length))
  order.set(Array.from(losses.keys()).sort((a, b) => losses[a]! - losses[b]!))
  return order
}
