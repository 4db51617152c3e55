import type { DatasetSpec } from '../engine/contract.js'
import { ArbalestError, invalidOption } from '../errors.js'
import { NO_AUGMENTATION } from '../model/augmentation.js'
import { elements, NO_CLASS } from '../model/graph.js'
import type { Normalisation } from '../model/normalisation.js'
import { checkedArrayOptions, type ArrayDatasetOptions, type SampleArrays } from './array-options.js'
import { checkedLabels, labelsThatCount } from './checks.js'
import type { StoredDataset } from './dataset.js'
import { Random } from './random.js'

/**
 * A Dataset of the caller's arrays. Checks all elements now. Copies them only to hold out test samples, so do not change them before
 * training has begun.
 * Throws INVALID_OPTION, with every fault of the options, SHAPE_MISMATCH and LABEL_OUT_OF_RANGE, each naming the option.
 */
export function datasetFromArrays(given: ArrayDatasetOptions): StoredDataset {
  const options = checkedArrayOptions(given)
  const { name = 'custom', sample, classNames, test, testFraction = 0.1, seed = 0 } = options
  const all = arraysOf('', options, options)
  const parts = test ? { train: all, test: arraysOf('test.', test, options) } : split(all, testFraction, seed)
  checkSomeCount('labels', parts.train, 'training')
  checkSomeCount(test ? 'test.labels' : 'labels', parts.test, 'test')
  return {
    name,
    sample,
    classes: all.classes ?? 0,
    ...(classNames && { classNames }),
    ...parts,
    ...normalisation(options, parts.train),
    augmentation: options.augmentation ?? NO_AUGMENTATION
  }
}

function arraysOf(prefix: string, { samples, labels, targets }: SampleArrays, options: ArrayDatasetOptions): DatasetSpec {
  const { sample, classes = 0, label, target = [] } = options
  const count = countOf(`${prefix}samples`, samples, sample)
  if (samples instanceof Float32Array) checkFinite(`${prefix}samples`, samples)
  if (samples instanceof Int32Array) checkTokens(`${prefix}samples`, samples)
  if (labels) {
    const each = elements(label ?? [])
    if (labels.length !== count * each) throw mismatch(`${prefix}labels`, `${count * each} labels for ${count} samples`, `${labels.length}`)
    const checked = checkedLabels(labels, classes, `${prefix}labels`, { each, least: label ? NO_CLASS : 0 })
    return { count, sample, samples, labels: checked, ...(label && { label }), classes }
  }
  // The options have one or the other.
  const values = targets!
  if (countOf(`${prefix}targets`, values, target) !== count) {
    throw mismatch(`${prefix}targets`, `${count} targets of (${target.join(', ')}) for ${count} samples`, `${values.length} numbers`)
  }
  checkFinite(`${prefix}targets`, values)
  return { count, sample, samples, target, targets: values }
}

function normalisation(options: ArrayDatasetOptions, train: DatasetSpec): Normalisation {
  const channels = options.sample.length === 3 ? options.sample[0]! : 1
  const measured = train.samples instanceof Uint8Array ? pixelStatistics(train.samples, channels, train.count) : undefined
  const mean = options.mean ?? measured?.mean ?? Array<number>(channels).fill(0)
  const std = options.std ?? measured?.std ?? Array<number>(channels).fill(1)
  if (mean.length !== channels) throw mismatch('mean', `${channels} numbers, one for each channel`, `${mean.length}`)
  if (std.length !== channels) throw mismatch('std', `${channels} numbers, one for each channel`, `${std.length}`)
  return { mean, std }
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
  if (index >= 0) throw invalidOption(`${option}[${index}]`, values[index], 'use finite numbers: correct or remove that sample')
}

function checkSomeCount(option: string, spec: DatasetSpec, of: string): void {
  if (spec.labels && labelsThatCount(spec) === 0)
    throw invalidOption(
      option,
      NO_CLASS,
      `give some of the ${of} samples' labels a class: with none there is nothing to learn or to measure`
    )
}

function checkTokens(option: string, tokens: Int32Array): void {
  const index = tokens.findIndex((token) => token < 0)
  if (index >= 0) throw invalidOption(`${option}[${index}]`, tokens[index], 'use ids of tokens from 0')
}

function mismatch(option: string, expected: string, found: string): ArbalestError {
  return new ArbalestError('SHAPE_MISMATCH', `${option}: expected ${expected}, received ${found}; check it against the given shapes`, {
    data: { parameter: option, expected, received: found }
  })
}

/** Holds out a random fraction of the samples, at least one but not all; both parts keep the original order. Throws INVALID_OPTION. */
function split(all: DatasetSpec, fraction: number, seed: number): { train: DatasetSpec; test: DatasetSpec } {
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
    samples: rows(all.samples, chosen, all.count, elementType(all.samples)),
    ...(all.labels && { labels: rows(all.labels, chosen, all.count, Int32Array) }),
    ...(all.targets && { targets: rows(all.targets, chosen, all.count, Float32Array) })
  }
}

/** Not the constructor of the array itself: that of a Buffer makes no array. */
function elementType(samples: DatasetSpec['samples']): new (length: number) => DatasetSpec['samples'] {
  return samples instanceof Uint8Array ? Uint8Array : samples instanceof Int32Array ? Int32Array : Float32Array
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
