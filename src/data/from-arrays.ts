import type { DatasetSpec } from '../engine/contract.js'
import { ArbalestError, invalidOption, shown } from '../errors.js'
import { elements } from '../model/graph.js'
import { checkedLabels } from './checks.js'
import type { Dataset, StoredDataset } from './dataset.js'
import { Random } from './random.js'
import type { Normalisation } from '../model/normalisation.js'

/** Samples with either labels or targets. */
export interface SampleArrays {
  /** (count, ...sample): bytes are pixels from 0 to 255, floats are finite and used without scaling. */
  readonly samples: Uint8Array | Float32Array
  /** (count): class numbers, from 0 to `classes` - 1. */
  readonly labels?: ArrayLike<number>
  /** (count, ...target): finite numbers. */
  readonly targets?: Float32Array
}

export interface ArrayDatasetOptions extends SampleArrays {
  /** `custom` if omitted. */
  readonly name?: string
  /** One sample's shape: (C, H, W) or (F). */
  readonly sample: readonly number[]
  /** The number of classes; with labels only. */
  readonly classes?: number
  /** The names of the classes, in the order of their numbers; a saved model keeps them. */
  readonly classNames?: readonly string[]
  /** One target's shape; with targets only. */
  readonly target?: readonly number[]
  /** The test set. If omitted, a part of the samples is held out. */
  readonly test?: SampleArrays
  /** The share that is held out if `test` is omitted: between 0 and 1, 0.1 if omitted. */
  readonly testFraction?: number
  /** Seeds the choice of the samples that are held out; 0 if omitted. */
  readonly seed?: number
  /**
   * Normalisation for each channel, of samples in 0 to 1; one number for (F) samples. If omitted, the statistics of the training samples if
   * these are bytes, otherwise 0 and 1.
   */
  readonly mean?: readonly number[]
  readonly std?: readonly number[]
  /** For training on (C, H, W) samples: zero padding before a random crop, and a random horizontal flip; none if omitted. */
  readonly augmentation?: { readonly padding: number; readonly flip: boolean }
}

/**
 * A Dataset of the caller's arrays. Checks all elements now. Copies them only to hold out test samples, so do not change them before
 * training has begun.
 * Throws INVALID_OPTION, SHAPE_MISMATCH, LABEL_OUT_OF_RANGE, each naming the option.
 */
export function datasetFromArrays(options: ArrayDatasetOptions): StoredDataset {
  const { name = 'custom', sample, testFraction, test } = options
  if (!Array.isArray(sample) || (sample.length !== 1 && sample.length !== 3)) {
    throw invalidOption('sample', sample, 'use the shape (C, H, W) or (F) of one sample')
  }
  checkShape('sample', sample)
  if (test && testFraction !== undefined) throw invalidOption('testFraction', testFraction, 'omit it: test is given')
  const all = checkedArrays('', options, options)
  const parts = test ? { train: all, test: checkedArrays('test.', test, options) } : split(all, testFraction ?? 0.1, options.seed ?? 0)
  if (all.samples instanceof Uint8Array !== parts.test.samples instanceof Uint8Array) {
    throw invalidOption('test.samples', parts.test.samples.constructor.name, 'use the same element type as samples')
  }
  return {
    name,
    sample,
    classes: all.classes ?? 0,
    ...classNames(options),
    ...parts,
    ...normalisation(options, parts.train),
    augmentation: augmentation(options)
  }
}

function checkedArrays(prefix: string, arrays: SampleArrays, options: ArrayDatasetOptions): DatasetSpec {
  const { sample, classes, target } = options
  const { samples } = arrays
  // JavaScript callers may pass null for an omitted array.
  const labels = arrays.labels ?? undefined
  const targets = arrays.targets ?? undefined
  if (!(samples instanceof Uint8Array) && !(samples instanceof Float32Array)) {
    throw invalidOption(`${prefix}samples`, typeof samples, 'use a Uint8Array or a Float32Array')
  }
  const count = countOf(`${prefix}samples`, samples, sample)
  if (samples instanceof Float32Array) checkFinite(`${prefix}samples`, samples)
  if ((labels === undefined) === (targets === undefined)) {
    throw invalidOption(`${prefix}labels`, labels === undefined ? 'neither labels nor targets' : 'labels and targets', 'give one of them')
  }
  if (labels !== undefined) {
    if (classes === undefined || !Number.isInteger(classes) || classes < 2 || classes > 2 ** 31 - 1) {
      throw invalidOption('classes', classes, 'labels need the number of classes: a whole number of at least 2')
    }
    if (target !== undefined) throw invalidOption('target', target, 'omit it: labels are given')
    if (labels.length !== count) throw mismatch(`${prefix}labels`, `${count} labels for ${count} samples`, `${labels.length}`)
    return { count, sample, samples, labels: checkedLabels(labels, classes, `${prefix}labels`), classes }
  }
  if (classes !== undefined) throw invalidOption('classes', classes, 'omit it: targets are given')
  if (!(targets instanceof Float32Array)) throw invalidOption(`${prefix}targets`, typeof targets, 'use a Float32Array')
  if (target === undefined) throw invalidOption('target', target, 'targets need the shape of one target')
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
  if (!fits) throw invalidOption('classNames', names, `give ${classes ?? 'no'} names, one for each class`)
  return { classNames: names }
}

function normalisation(options: ArrayDatasetOptions, train: DatasetSpec): Normalisation {
  const channels = options.sample.length === 3 ? options.sample[0]! : 1
  const measured = train.samples instanceof Uint8Array ? pixelStatistics(train.samples, channels, train.count) : undefined
  const mean = options.mean ?? measured?.mean ?? Array<number>(channels).fill(0)
  const std = options.std ?? measured?.std ?? Array<number>(channels).fill(1)
  if (mean.length !== channels) throw mismatch('mean', `${channels} numbers, one for each channel`, `${mean.length}`)
  if (std.length !== channels) throw mismatch('std', `${channels} numbers, one for each channel`, `${std.length}`)
  if (!mean.every(Number.isFinite)) throw invalidOption('mean', mean, 'use finite numbers')
  if (!std.every((d) => Number.isFinite(d) && d > 0)) throw invalidOption('std', std, 'use finite numbers above 0')
  return { mean, std }
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
  if (!shape.every((size) => Number.isInteger(size) && size > 0)) throw invalidOption(option, shape, 'use whole numbers of at least 1')
}

/** How many tensors of `shape` the array has. Throws SHAPE_MISMATCH unless it is a whole number above 0. */
function countOf(option: string, values: { readonly length: number }, shape: readonly number[]): number {
  const size = elements(shape)
  const count = values.length / size
  if (Number.isInteger(count) && count > 0) return count
  throw mismatch(option, `a positive multiple of ${size} numbers, the elements of (${shape.join(', ')})`, `${values.length}`)
}

function checkFinite(option: string, values: Float32Array): void {
  const index = values.findIndex((value) => !Number.isFinite(value))
  if (index >= 0)
    throw invalidOption(`${option}[${index}]`, shown(String(values[index])), 'use finite numbers: correct or remove that sample')
}

function mismatch(option: string, expected: string, found: string): ArbalestError {
  return new ArbalestError('SHAPE_MISMATCH', `${option}: expected ${expected}, received ${found}; check it against the given shapes`, {
    data: { parameter: option, expected, received: found }
  })
}

/**
 * Holds out a random share of the samples, at least one but not all; both parts keep the original order. Throws INVALID_OPTION.
 */
function split(all: DatasetSpec, fraction: number, seed: number): { train: DatasetSpec; test: DatasetSpec } {
  if (!(fraction > 0 && fraction < 1)) throw invalidOption('testFraction', fraction, 'use a number between 0 and 1, or give test')
  if (!Number.isSafeInteger(seed) || seed < 0) throw invalidOption('seed', seed, 'use a whole number from 0 to 2^53 - 1')
  const { count } = all
  if (count < 2) throw invalidOption('samples', count, 'give at least 2 samples, or give test')
  const heldOut = Math.min(count - 1, Math.max(1, Math.round(count * fraction)))
  const order = new Random(seed).shuffle(Int32Array.from({ length: count }, (_, i) => i))
  return { train: part(all, order.slice(heldOut).sort()), test: part(all, order.slice(0, heldOut).sort()) }
}

function part(all: DatasetSpec, chosen: Int32Array): DatasetSpec {
  return {
    ...all,
    count: chosen.length,
    samples: rows<Uint8Array | Float32Array>(all.samples, chosen, all.count, all.samples instanceof Uint8Array ? Uint8Array : Float32Array),
    ...(all.labels && { labels: rows(all.labels, chosen, all.count, Int32Array) }),
    ...(all.targets && { targets: rows(all.targets, chosen, all.count, Float32Array) })
  }
}

type Numbers = Uint8Array | Float32Array | Int32Array

function rows<T extends Numbers>(values: Numbers, chosen: Int32Array, count: number, make: new (length: number) => T): T {
  const width = values.length / count
  const taken = new make(chosen.length * width)
  chosen.forEach((row, i) => taken.set(values.subarray(row * width, (row + 1) * width), i * width))
  return taken
}

/**
 * Mean and standard deviation of each channel of pixels (count, channels, ...), scaled to 0 to 1. A constant channel gets the std 1, so
 * that it can be divided by.
 */
export function pixelStatistics(pixels: Uint8Array, channels: number, count: number): { mean: number[]; std: number[] } {
  const area = pixels.length / count / channels
  const mean: number[] = []
  const std: number[] = []
  for (let channel = 0; channel < channels; channel++) {
    // Exact: the sums are whole numbers below 2^53 for any array that fits in memory.
    let sum = 0
    let squares = 0
    for (let sample = 0; sample < count; sample++) {
      const from = (sample * channels + channel) * area
      for (let i = from; i < from + area; i++) {
        const pixel = pixels[i]!
        sum += pixel
        squares += pixel * pixel
      }
    }
    const average = sum / (count * area)
    const variance = squares / (count * area) - average * average
    mean.push(average / 255)
    std.push(variance > 1e-9 ? Math.sqrt(variance) / 255 : 1)
  }
  return { mean, std }
}
