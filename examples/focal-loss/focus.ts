import { train, type FinishedEvent, type StoredDataset } from 'arbalest'
import type { FocalLoss } from './learner.js'

/** Trains a LeNet that learns most from the samples it is least sure of. */
export async function focus(data: StoredDataset, { epochs = 2, gamma = 2 } = {}): Promise<FinishedEvent> {
  const learnerOptions: FocalLoss = { gamma }
  const learner = new URL('./learner.js', import.meta.url)
  return await train({ model: 'lenet', data, until: { epochs }, learner, learnerOptions, metrics: ['recall', 'perClass'] }).finished
}
