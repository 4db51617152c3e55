import { train, type FinishedEvent, type StoredDataset } from 'arbalest'
import type { ClassWeights } from './learner.js'

/** Trains a LeNet on classes of different sizes so that all of them count the same. */
export async function balance(data: StoredDataset, { epochs = 2 } = {}): Promise<{ weights: readonly number[]; finished: FinishedEvent }> {
  const learnerOptions: ClassWeights = { weights: balancedWeights(data.train.labels!, data.classes) }
  const learner = new URL('./learner.js', import.meta.url)
  const job = train({ model: 'lenet', data, until: { epochs }, learner, learnerOptions, metrics: ['recall', 'perClass'] })
  return { weights: learnerOptions.weights, finished: await job.finished }
}

/** Samples / (classes x samples of the class), scikit-learn's `class_weight='balanced'`; 0 for a class without samples. */
export function balancedWeights(labels: Int32Array, classes: number): readonly number[] {
  const counts = Array.from({ length: classes }, () => 0)
  for (const label of labels) counts[label]!++
  return counts.map((count) => (count === 0 ? 0 : labels.length / (classes * count)))
}
