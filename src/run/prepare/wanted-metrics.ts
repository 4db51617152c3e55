import type { Program } from '../../compiler/program.js'
import type { Dataset } from '../../data/dataset.js'
import { invalidOption } from '../../errors.js'
import { checkSuits, isScalar, type MetricName } from '../../metrics/metric-names.js'
import type { MetricPlan } from '../../metrics/metrics.js'
import type { Model } from '../../model/model.js'
import type { Settings } from '../../options/settings.js'
import { metricPlan, taskOfModel } from '../../trained/programs.js'

const TOLD_OF_NUMBERS: readonly MetricName[] = ['r2', 'mae']

/** The metrics of the options, and the one that is monitored. Throws INVALID_OPTION for those that the model's task does not have. */
export function wantedMetrics(
  model: Model,
  dataset: Dataset,
  predict: Program,
  { metrics: given, until: { monitor, accuracy } }: Settings
): MetricPlan | undefined {
  const task = taskOfModel(model, predict)
  // What people ask of a regression, in the unit of the target.
  const metrics = given.length === 0 && task.kind === 'numbers' && dataset.encoding ? TOLD_OF_NUMBERS : given
  checkSuits(metrics, task)
  if (accuracy !== undefined && task.kind === 'numbers')
    throw invalidOption('until.accuracy', accuracy, 'the model gives numbers, which are never exactly right: use until.loss')
  if (monitor === 'accuracy' && task.kind === 'numbers')
    throw invalidOption('until.monitor', monitor, 'the model gives numbers, not classes: use some of loss, r2, mae, rmse')
  if (monitor === undefined || !isScalar(monitor)) return metricPlan([...new Set(metrics)], task, dataset)
  checkSuits([monitor], task, 'until.monitor')
  return metricPlan([...new Set([...metrics, monitor])], task, dataset)
}
