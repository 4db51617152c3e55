import { SCALAR_NAMES } from '../metrics/metric-names.js'
import { group, option, type CheckedOptions, type GivenOptions, type ToldByName } from '../schema/group.js'
import { oneOf, real, whole } from '../schema/values.js'
import type { Defaults } from './defaults.js'

/** The figures by which central models can be compared. */
export const FIGURES = ['accuracy', 'loss', ...SCALAR_NAMES] as const

const MONITORED_ELSEWHERE = {
  val_loss: 'that is loss',
  testLoss: 'that is loss',
  val_acc: 'that is accuracy',
  val_accuracy: 'that is accuracy',
  testAccuracy: 'that is accuracy'
}

const until = group({
  /** Passes over the training set. */
  epochs: option(real({ above: 0 }), {
    text: 'passes over the training set',
    flag: '--epochs <count>',
    otherwise: 'depends on the model',
    common: true,
    also: ['maxEpochs', 'max_epochs', 'numEpochs', 'num_epochs']
  }),
  /** Iterations: steps of each learner. */
  steps: option(whole({ min: 1 }), {
    text: 'steps of each learner, instead of epochs',
    flag: '--steps <count>',
    also: ['maxSteps', 'max_steps', 'iterations', 'maxIterations', 'max_iterations']
  }),
  /** Seconds of training, without set-up and evaluation: the run ends at the next round. */
  seconds: option(real({ above: 0 }), {
    text: 'the longest training time in seconds',
    flag: '--seconds <count>',
    also: ['maxTime', 'max_time']
  }),
  /** A sufficient test accuracy, 0 to 1. */
  accuracy: option(real({ above: 0, max: 1 }), { text: 'end at this test accuracy, 0 to 1', flag: '--until-accuracy <fraction>' }),
  /** A sufficient test loss. */
  loss: option(real({ above: 0 }), { text: 'end at this test loss', flag: '--until-loss <number>' }),
  /** Measurements in a row without an improvement by more than `minDelta` after which the run ends. */
  patience: option(whole({ min: 1 }), {
    text: 'end after this many measurements in a row without improvement',
    flag: '--patience <count>',
    also: ['earlyStopping', 'early_stopping']
  }),
  /** 0 if omitted. */
  minDelta: option(real({ min: 0 }), { text: 'the least improvement, for --patience', flag: '--min-delta <number>', default: 0 }),
  /**
   * The figure whose improvement counts, for `patience`, for `keep: 'best'` and for the checkpoint that is kept as the best: `accuracy` if omitted, `loss` if there is no
   * accuracy. Or one of `precision`, `recall`, `f1`, `iou`, `auc`, `r2`, `mae` and `rmse`, which is then measured.
   */
  monitor: option(oneOf(FIGURES, MONITORED_ELSEWHERE), {
    text: `the figure whose improvement counts: ${FIGURES.join(', ')}`,
    flag: '--monitor <figure>',
    also: ['watch'],
    otherwise: 'accuracy, if there is one'
  })
})

/** When to end: at the first of these conditions. */
export interface UntilOptions extends GivenOptions<typeof until>, ToldByName {}

/** A figure by which central models are compared. */
export type Monitored = NonNullable<UntilOptions['monitor']>

export const untilOptions = {
  /** When to end. */
  until: option<UntilOptions, CheckedOptions<typeof until>>(until)
}

/** When a run ends: at the first of these conditions; Infinity and undefined for none. */
export interface UntilSettings {
  readonly epochs: number
  readonly steps: number
  readonly seconds: number
  readonly accuracy: number | undefined
  readonly loss: number | undefined
  readonly patience: number
  readonly minDelta: number
  /** undefined: accuracy if there is one, else loss. */
  readonly monitor: Monitored | undefined
}

/** Whether only a time limit was given: the progress of such a run is not known beforehand. */
export function endsByTimeAlone({ seconds, epochs, steps }: UntilOptions = {}): boolean {
  return seconds !== undefined && epochs === undefined && steps === undefined
}

export function untilSettings(given: UntilOptions = {}, defaults: Defaults): UntilSettings {
  const { steps = Infinity, seconds = Infinity, accuracy, loss, patience = Infinity, minDelta = 0, monitor } = given
  const { epochs = given.steps === undefined ? defaults.epochs : Infinity } = given
  return { epochs, steps, seconds, accuracy, loss, patience, minDelta, monitor }
}
