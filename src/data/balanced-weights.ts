import { invalidOption } from '../errors.js'
import { labelsOf } from '../model/operators/losses.js'
import type { Dataset } from './dataset.js'

/**
 * The weights (K) with which all classes of the training samples count the same: labels / (K x labels of the class), scikit-learn's `class_weight='balanced'`; 0 for a class without
 * labels. Where a sample has a label for each position or pixel, these are counted. Throws INVALID_OPTION for data whose targets are not classes, and for texts, whose tokens are no classes.
 */
export function balancedWeights({ name, classes, train: { labels } }: Pick<Dataset, 'name' | 'classes' | 'train'>): number[] {
  if (classes === 0) throw invalidOption('classWeights', 'balanced', `leave it out: the targets of ${name} are not classes`)
  if (labels === undefined)
    throw invalidOption('classWeights', 'balanced', `give a number for each class: the training samples of ${name} have no labels to count`)
  const counts = Array.from({ length: classes }, () => 0)
  let counted = 0
  for (const label of labels) {
    // A position without a class counts for nothing.
    if (label < 0) continue
    counts[label]! += 1
    counted += 1
  }
  return counts.map((count) => (count === 0 ? 0 : counted / (classes * count)))
}

/**
 * The weight of each label with which it counts the same where it holds as where it does not: the sum of 1 - target over the sum of the targets of the training samples; 1 for a label that never holds.
 * Throws INVALID_OPTION for data without targets.
 */
export function balancedPositiveWeights({ name, train }: Pick<Dataset, 'name' | 'train'>): number[] {
  const { targets, target } = train
  if (!targets || !target)
    throw invalidOption('positiveWeights', 'balanced', `leave it out: the training samples of ${name} have no targets to count`)
  const labels = labelsOf(target)
  const together = target.length === 3 ? target[1]! * target[2]! : 1
  const holding = Array.from({ length: labels }, () => 0)
  for (const [i, each] of targets.entries()) holding[Math.floor(i / together) % labels]! += each
  return holding.map((sum) => (sum > 0 ? (targets.length / labels - sum) / sum : 1))
}
