import { METRIC_HINTS, METRIC_NAMES, type MetricName } from '../metrics/metric-names.js'
import type { EvaluatedEvent } from '../observe/events.js'
import { option } from '../schema/group.js'
import { callable, either, kind, list, oneOf, real, whole } from '../schema/values.js'

/** `stop` ends the run; any other value lets it continue. */
export type Verdict = 'stop' | void

type OnEvaluated = (event: EvaluatedEvent) => Verdict | Promise<Verdict>

export const evaluationOptions = {
  /** Epochs, also parts of one, from one measurement of the central model to the next; 1 if omitted. */
  evaluateEvery: option(real({ above: 0 }), {
    text: 'epochs, also parts of one, from one measurement to the next',
    flag: '--evaluate-every <epochs>',
    default: 1
  }),
  /** Adds the fraction of samples whose class is among this many likeliest to every evaluation, as `testTopK`. */
  topK: option(whole({ min: 1, max: 2 ** 30 }), {
    text: 'also tell how often the right class is among this many likeliest',
    flag: '--top-k <count>'
  }),
  /**
   * What every evaluation also tells, as `testMetrics`. Of classes and of yes-or-no answers: `confusion`, `perClass`, `precision`, `recall`, `f1`, `iou`, `auc`. Of numbers:
   * `r2`, `mae`, `rmse`. None if omitted: each answer has to be looked at, which makes evaluations a little slower.
   */
  metrics: option(list<MetricName, MetricName>(oneOf(METRIC_NAMES, METRIC_HINTS), "a list of names, such as ['f1', 'confusion']"), {
    text: `also tell, comma-separated: ${METRIC_NAMES.join(', ')}`,
    flag: '--metrics <names>',
    default: []
  }),
  /** Which central model the trained model is: the `last` one (if omitted), or the one that was measured `best`, by `until.monitor`. */
  keep: option(oneOf(['last', 'best']), { text: 'the trained model: last, or the best measured', flag: '--keep <which>', default: 'last' }),
  /** Called after each measurement and awaited; the run ends there if the result is `stop`. An error that it throws ends the run as its failure. */
  onEvaluated: option(callable<OnEvaluated>(), {
    text: 'called after each measurement',
    also: ['onEpochEnd', 'on_epoch_end', 'onValidationEnd', 'on_validation_end']
  }),
  /** Milliseconds within which `onEvaluated` must answer, else the run fails with DEADLINE_EXCEEDED; no limit if omitted. */
  onEvaluatedDeadline: option(
    either([real({ above: 0, unit: 'milliseconds' }), kind<number>(() => true, '')], (value) => (value === Infinity ? 1 : 0)),
    { text: 'milliseconds within which onEvaluated must answer', default: Infinity }
  )
}
