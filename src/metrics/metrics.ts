import { ClassTally, type ClassCounts } from './class-tally.js'
import { DeviationTally, type DeviationSums } from './deviation-tally.js'
import type { MetricName, Task } from './metric-names.js'

/** How well one class, or one label, is told from the others. A ratio whose denominator is 0 is null where the class does not occur, else 0. */
export interface ClassFigures {
  /** Its number. */
  readonly class: number
  /** Test samples of this class. */
  readonly samples: number
  /** Right answers of this class / answers of this class. */
  readonly precision: number | null
  /** Right answers of this class / samples of this class: the accuracy within the class. Null without such samples. */
  readonly recall: number | null
  /** 2 x right answers / (answers + samples of this class): the harmonic mean of precision and recall. */
  readonly f1: number | null
  /** Right answers / (answers + samples of this class - right answers): the intersection over the union, which is Jaccard's index. */
  readonly iou: number | null
}

/**
 * Metrics of a model on test samples, those that were asked for. They are defined as in scikit-learn: see each. They are computed from whole counts and exact sums, and do
 * not depend on the number of evaluators.
 */
export interface EvaluationMetrics {
  /**
   * Row i, column j: samples of class i that were taken for class j, as `confusion_matrix(target, answer)`. With a binary cross-entropy the two classes are
   * 0, where the target is at most 1/2, and 1.
   */
  readonly confusion?: readonly (readonly number[])[]
  /** Each class, or each label, in the order of their numbers. */
  readonly perClass?: readonly ClassFigures[]
  /** Mean over the classes that occur as target or answer, or over all labels (macro; `zero_division=0`). Of a single label: that of its positive answers. */
  readonly precision?: number
  /** As `precision`. */
  readonly recall?: number
  /** As `precision`: the mean of the classes' F1, not the F1 of the means. */
  readonly f1?: number
  /** As `precision`: the mean of the classes' intersections over unions, `jaccard_score`. */
  readonly iou?: number
  /**
   * The area under the ROC curve, `roc_auc_score` with `multi_class='ovr'`: how often a sample of the class has a higher probability of it than a sample of another, the mean over the classes, or
   * labels, that have samples on both sides; 0 if there is none.
   */
  readonly auc?: number
  /** Mean over the outputs of 1 - sum (y - p)^2 / sum (y - mean y)^2; if all y of an output are equal, 1 for exact predictions and 0 for others. */
  readonly r2?: number
  /** Mean over the outputs of mean |y - p|, in the unit of the targets. */
  readonly mae?: number
  /** Mean over the outputs of sqrt(mean (y - p)^2), in the unit of the targets. */
  readonly rmse?: number
}

/** What evaluators have to tally. */
export interface MetricPlan {
  readonly task: Task
  readonly names: readonly MetricName[]
  /** About the mean of the targets of each output. */
  readonly pivots?: readonly number[]
  /** The unit of the targets, if these were divided by it: 1 if omitted. */
  readonly unit?: number
}

/** The tally of one evaluator, which may be posted to another thread. */
export type TallyCounts = ClassCounts | DeviationSums

export interface MetricTally {
  /** Answers (n, ...output) and targets (n, ...) of a batch, as the engine gives them. */
  add(output: ArrayLike<number>, target: ArrayLike<number>): void
  readonly counts: TallyCounts
}

export function tallyOf(plan: MetricPlan): MetricTally {
  return plan.task.kind === 'numbers' ? new DeviationTally(plan.pivots!) : new ClassTally(plan)
}

/** The metrics of a plan, from the tallies of all evaluators. */
export function metricsOf({ task, names, pivots, unit }: MetricPlan, states: readonly TallyCounts[]): EvaluationMetrics {
  const all: EvaluationMetrics =
    task.kind === 'numbers'
      ? DeviationTally.joined(pivots!, states as readonly DeviationSums[]).metrics(unit)
      : ClassTally.joined({ task, names }, states as readonly ClassCounts[]).metrics()
  return Object.fromEntries(names.map((name) => [name, all[name]]))
}
