import type { Dataset } from '../data/dataset.js'
import { shown } from '../errors.js'
import { NO_CLASS } from '../model/graph.js'
import type { Model } from '../model/model.js'
import type { EvaluatedEvent } from '../observe/events.js'

const ADVICE = 'train longer, try other learning rates, or give it samples that tell more'

/**
 * A hint where a model is no better on the test samples than the best answer that looks at none: the most frequent class, or the mean of the targets. undefined where it is better, and where
 * that is not measured.
 */
export function nothingLearnt(
  { testAccuracy, testMetrics }: Pick<EvaluatedEvent, 'testAccuracy' | 'testMetrics'>,
  { test, classNames }: Pick<Dataset, 'test' | 'classNames'>,
  { classWeights }: Pick<Model, 'classWeights'> = {}
): string | undefined {
  const { r2 } = testMetrics ?? {}
  if (r2 !== undefined && r2 <= 0)
    return `R2 is not above 0, which the mean of the targets as the answer to every sample has: the model has learnt nothing that the test samples show; ${ADVICE}`
  // Class weights favour rare classes at the cost of accuracy. Tokens of a text are no classes of samples.
  if (classWeights || testAccuracy === null || !test.labels || test.stride !== undefined) return undefined
  const { label, share } = mostFrequent(test.labels.filter((each) => each !== NO_CLASS))
  // Where all samples are of one class, nothing can be told from them.
  if (testAccuracy > share || share === 1) return undefined
  const name = shown(classNames?.[label] ?? label)
  return `the test accuracy is not above ${(100 * share).toFixed(2)}%, which class ${name} as the answer to every ${test.label ? 'position' : 'sample'} has: the model has learnt nothing that the test samples show; ${ADVICE}`
}

function mostFrequent(labels: Int32Array): { readonly label: number; readonly share: number } {
  const counts = new Map<number, number>()
  for (const label of labels) counts.set(label, 1 + (counts.get(label) ?? 0))
  const [label, count] = [...counts].reduce((most, each) => (each[1] > most[1] ? each : most), [0, 0] as [number, number])
  return { label, share: labels.length > 0 ? count / labels.length : 1 }
}
