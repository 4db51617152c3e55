import { invalidOption, together, type ArbalestError } from '../errors.js'
import type { LossName } from '../model/operators/losses.js'

/** What can be measured beside loss and accuracy. */
export const METRIC_NAMES = ['confusion', 'perClass', 'precision', 'recall', 'f1', 'iou', 'auc', 'r2', 'mae', 'rmse'] as const
const ALWAYS = 'leave it out: it is always told'
/** What is said of the two that Keras wants to be named, and of names in other libraries. */
export const METRIC_HINTS = {
  accuracy: ALWAYS,
  loss: ALWAYS,
  roc_auc: 'that is auc',
  auroc: 'that is auc',
  jaccard: 'that is iou',
  miou: 'that is iou',
  mean_iou: 'that is iou'
}
/** The name of a metric beside loss and accuracy. */
export type MetricName = (typeof METRIC_NAMES)[number]

/** Those that are a single number, by which models can be compared: whether the higher or the lower is better. */
export const SCALARS = {
  precision: 'higher',
  recall: 'higher',
  f1: 'higher',
  iou: 'higher',
  auc: 'higher',
  r2: 'higher',
  mae: 'lower',
  rmse: 'lower'
} as const satisfies Partial<Record<MetricName, 'higher' | 'lower'>>
export type ScalarName = keyof typeof SCALARS
export const SCALAR_NAMES = Object.keys(SCALARS) as ScalarName[]

export function isScalar(name: string): name is ScalarName {
  return Object.hasOwn(SCALARS, name)
}

/** What a model answers. */
export interface Task {
  /** - `classes`: one of several. - `labels`: each of several holds or does not. - `numbers`: as near to the targets as possible. */
  readonly kind: 'classes' | 'labels' | 'numbers'
  /** How many classes, labels or numbers. */
  readonly size: number
  /** Of one sample: 1, or as many as it has positions or pixels with a class each. */
  readonly answers: number
}

/** The task of a model with this loss, whose outputs for a sample have this shape. */
export function taskOf(loss: LossName, output: readonly number[]): Task {
  const all = output.reduce((product, extent) => product * extent, 1)
  if (loss === 'softmaxCrossEntropy') return { kind: 'classes', size: output.at(-1)!, answers: all / output.at(-1)! }
  return { kind: loss === 'binaryCrossEntropy' ? 'labels' : 'numbers', size: all, answers: 1 }
}

const SUITING: Readonly<Record<Task['kind'], readonly MetricName[]>> = {
  classes: ['confusion', 'perClass', 'precision', 'recall', 'f1', 'iou', 'auc'],
  labels: ['confusion', 'perClass', 'precision', 'recall', 'f1', 'iou', 'auc'],
  numbers: ['r2', 'mae', 'rmse']
}

/** The matrix of more classes would be most of every log, and the scores of all of them most of the memory. */
const MOST_CLASSES = 1000

/** A matrix that a person may still want to see. */
const USUALLY_MOST_CLASSES = 100

/** The metrics that a task has, but for those that take much memory for many classes. */
export function usualMetrics(task: Task): readonly MetricName[] {
  return SUITING[task.kind].filter((name) => refusalOf(name, task, USUALLY_MOST_CLASSES) === undefined)
}

/** Throws INVALID_OPTION with every metric that the task does not have; `path` names the option. */
export function checkSuits(names: readonly MetricName[], task: Task, path = 'metrics'): void {
  const refusals = names.flatMap((name) => {
    const fix = refusalOf(name, task)
    return fix === undefined ? [] : [invalidOption(path, name, fix)]
  })
  if (refusals.length > 0) throw together(refusals as [ArbalestError, ...ArbalestError[]])
}

function refusalOf(name: MetricName, { kind, size, answers }: Task, mostClasses = MOST_CLASSES): string | undefined {
  const suiting = SUITING[kind]
  if (!suiting.includes(name)) {
    const what = { classes: 'chooses among classes', labels: 'answers yes or no', numbers: 'gives numbers, not classes' }[kind]
    return `the model ${what}: use some of ${suiting.join(', ')}`
  }
  if (name !== 'confusion' && name !== 'auc') return undefined
  if (name === 'confusion' && kind === 'labels' && size > 1) return `it is for one answer, and the model gives ${size}: use perClass`
  if (name === 'auc' && answers > 1) return `it is for one answer to a sample, and the model gives ${answers}: use perClass`
  return size > mostClasses ? `it is for at most ${mostClasses} ${kind}, and there are ${size}: use perClass` : undefined
}
