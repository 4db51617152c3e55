import { ArbalestError, invalidOption, shown } from '../errors.js'
import type { DatasetSpec } from '../engine/contract.js'
import { elements } from '../model/graph.js'
import type { Dataset, StoredDataset } from './dataset.js'
import { checkedLabels } from './faults.js'
import { pixelStatistics } from './statistics.js'
import { split } from './split.js'

/** Samples and what is to be learnt of them: either labels or targets. */
export interface SampleArrays {
  /** (count, ...sample): pixels 0 to 255 as bytes, or finite floats, taken as they are. */
  readonly samples: Uint8Array | Float32Array
  /** (count): whole numbers below `classes`. */
  readonly labels?: ArrayLike<number>
  /** (count, ...target): finite. */
  readonly targets?: Float32Array
}

export interface ArrayDatasetOptions extends SampleArrays {
  /** `custom` if left out. */
  readonly name?: string
  /** One sample's shape: (C, H, W) or (F). */
  readonly sample: readonly number[]
  /** How many classes there are; with labels only. */
  readonly classes?: number
  /** What each class is called, in the order of its numbers; a saved model carries it along. */
  readonly classNames?: readonly string[]
  /** One target's shape; with targets only. */
  readonly target?: readonly number[]
  /** What the trained model is measured on. If left out, a part of the samples is held out for it. */
  readonly test?: SampleArrays
  /** The part held out, chosen by `seed`, where there is no `test`: between 0 and 1, 0.1 if left out. */
  readonly testFraction?: number
  readonly seed?: number
  /**
   * Per channel, of samples in 0 to 1; one of each for a (F) sample. If left out: measured on the training samples where they are bytes, 0
   * and 1 where they are floats.
   */
  readonly mean?: readonly number[]
  readonly deviation?: readonly number[]
  /** For training, on (C, H, W) samples: zero padding before a random crop, and a random left-right flip. None if left out. */
  readonly augmentation?: { readonly padding: number; readonly flip: boolean }
}

/**
 * A Dataset of arrays that the caller has. They are checked whole here, and not copied where they need not be split: leave them unchanged
 * until the training has begun.
 * Throws INVALID_OPTION, SHAPE_MISMATCH, LABEL_OUT_OF_RANGE, each naming the option.
 */
export function datasetFromArrays(options: ArrayDatasetOptions): StoredDataset {
  const { name = 'custom', sample, testFraction, test } = options
  if (!Array.isArray(sample) || (sample.length !== 1 && sample.length !== 3)) {
    throw invalidOption('sample', sample, 'use the shape (C, H, W) or (F) of one sample')
  }
  checkShape('sample', sample)
  if (test && testFraction !== undefined) throw invalidOption('testFraction', testFraction, 'leave it out: test is given')
  const whole = checkedArrays('', options, options)
  const parts = test ? { train: whole, test: checkedArrays('test.', test, options) } : split(whole, testFraction ?? 0.1, options.seed ?? 0)
  if (whole.samples instanceof Uint8Array !== parts.test.samples instanceof Uint8Array) {
    throw invalidOption('test.samples', parts.test.samples.constructor.name, 'use the same element type as samples')
  }
  return {
    name,
    sample,
    classes: whole.classes ?? 0,
    ...classNames(options),
    ...parts,
    ...normalisation(options, parts.train),
    augmentation: augmentation(options)
  }
}

function checkedArrays(prefix: string, arrays: SampleArrays, options: ArrayDatasetOptions): DatasetSpec {
  const { sample, classes, target } = options
  const { samples } = arrays
  // From JavaScript, null is left out as well.
  const labels = arrays.labels ?? undefined
  const targets = arrays.targets ?? undefined
  if (!(samples instanceof Uint8Array) && !(samples instanceof Float32Array)) {
    throw invalidOption(`${prefix}samples`, typeof samples, 'use a Uint8Array or a Float32Array')
  }
  const count = countOf(`${prefix}samples`, samples, sample)
  if (samples instanceof Float32Array) checkFinite(`${prefix}samples`, samples)
  if ((labels === undefined) === (targets === undefined)) {
    throw invalidOption(
      `${prefix}labels`,
      labels === undefined ? 'neither labels nor targets' : 'labels and targets',
      'give one of the two'
    )
  }
  if (labels !== undefined) {
    if (classes === undefined || !Number.isInteger(classes) || classes < 2 || classes > 2 ** 31 - 1) {
      throw invalidOption('classes', classes, 'with labels, use how many classes there are: a whole number from 2 on')
    }
    if (target !== undefined) throw invalidOption('target', target, 'leave it out: labels are given')
    if (labels.length !== count) throw mismatch(`${prefix}labels`, `${count} labels for ${count} samples`, `${labels.length}`)
    return { count, sample, samples, labels: checkedLabels(labels, classes, `${prefix}labels`), classes }
  }
  if (classes !== undefined) throw invalidOption('classes', classes, 'leave it out: targets are given')
  if (!(targets instanceof Float32Array)) throw invalidOption(`${prefix}targets`, typeof targets, 'use a Float32Array')
  if (target === undefined) throw invalidOption('target', target, 'with targets, use the shape of one')
  checkShape('target', target)
  if (countOf(`${prefix}targets`, targets, target) !== count) {
    throw mismatch(`${prefix}targets`, `${count} targets of (${target.join(', ')}) for ${count} samples`, `${targets.length} numbers`)
  }
  checkFinite(`${prefix}targets`, targets)
  return { count, sample, samples, target, targets }
}

function classNames({ classNames: names, classes }: ArrayDatasetOptions): Pick<Dataset, 'classNames'> {
  if (names === undefined) return {}
  const fits = Array.isArray(names) && names.length === classes && names.every((name) => typeof name === 'string')
  if (!fits) throw invalidOption('classNames', names, `give ${classes ?? 'no'} names, one a class`)
  return { classNames: names }
}

function normalisation(options: ArrayDatasetOptions, train: DatasetSpec): Pick<Dataset, 'mean' | 'deviation'> {
  const channels = options.sample.length === 3 ? options.sample[0]! : 1
  const measured = train.samples instanceof Uint8Array ? pixelStatistics(train.samples, channels, train.count) : undefined
  const mean = options.mean ?? measured?.mean ?? Array<number>(channels).fill(0)
  const deviation = options.deviation ?? measured?.deviation ?? Array<number>(channels).fill(1)
  if (mean.length !== channels) throw mismatch('mean', `${channels} numbers, one a channel`, `${mean.length}`)
  if (deviation.length !== channels) throw mismatch('deviation', `${channels} numbers, one a channel`, `${deviation.length}`)
  if (!mean.every(Number.isFinite)) throw invalidOption('mean', mean, 'use finite numbers')
  if (!deviation.every((d) => Number.isFinite(d) && d > 0)) throw invalidOption('deviation', deviation, 'use finite numbers above 0')
  return { mean, deviation }
}

function augmentation({ augmentation: given, sample }: ArrayDatasetOptions): Dataset['augmentation'] {
  const { padding, flip } = given ?? { padding: 0, flip: false }
  const most = sample.length === 3 ? Math.min(sample[1]!, sample[2]!) : 0
  if (!Number.isInteger(padding) || padding < 0 || padding > most) {
    throw invalidOption('augmentation.padding', padding, `use a whole number from 0 to ${most} for samples of (${sample.join(', ')})`)
  }
  if (typeof flip !== 'boolean' || (flip && sample.length !== 3))
    throw invalidOption('augmentation.flip', flip, 'use true for (C, H, W) samples only')
  return { padding, flip }
}

function checkShape(option: string, shape: readonly number[]): void {
  if (!shape.every((extent) => Number.isInteger(extent) && extent > 0)) throw invalidOption(option, shape, 'use whole numbers from 1 on')
}

/** How many values of `shape` the array holds: a whole number, and not none. */
function countOf(option: string, values: { readonly length: number }, shape: readonly number[]): number {
  const each = elements(shape)
  const count = values.length / each
  if (Number.isInteger(count) && count > 0) return count
  throw mismatch(option, `a positive multiple of ${each} numbers, the elements of (${shape.join(', ')})`, `${values.length}`)
}

function checkFinite(option: string, values: Float32Array): void {
  const at = values.findIndex((value) => !Number.isFinite(value))
  if (at >= 0) throw invalidOption(`${option}[${at}]`, shown(String(values[at])), 'use finite numbers: leave out or mend that sample')
}

function mismatch(option: string, expected: string, found: string): ArbalestError {
  return new ArbalestError('SHAPE_MISMATCH', `${option}: expected ${expected}, received ${found}; check it against the shapes given`, {
    data: { parameter: option, expected, received: found }
  })
}
