import type { DatasetSpec } from '../engine/contract.js'
import type { SampleEncoding } from '../formats/encoding.js'
import type { Augmentation } from '../model/augmentation.js'
import { elements } from '../model/graph.js'
import type { Normalisation } from '../model/normalisation.js'
import { labelsThatCount } from './checks.js'
import type { Draws } from './random.js'
import type { ColumnReport } from './tables/fit.js'

/** Training samples and test samples, with the normalisation and augmentation that a training step applies to them. */
export interface Dataset extends Normalisation {
  readonly name: string
  /** One sample's shape: (C, H, W), (T, F), (F), or (T) tokens. */
  readonly sample: readonly number[]
  /** 0 if the targets are not classes. */
  readonly classes: number
  /** The names of the classes or tokens, in the order of their numbers; the numbers themselves if omitted. */
  readonly classNames?: readonly string[]
  /** In memory, or streamed: read from storage during training. */
  readonly train: DatasetSpec | StreamedSamples
  readonly test: DatasetSpec | StreamedSamples
  /** Of training samples. Those of streamed ones come after what their reader does, and `flip: 'alternate'` is refused. */
  readonly augmentation: Augmentation
  /** How a row of a table, a text or an image becomes a sample; a saved model keeps it. */
  readonly encoding?: SampleEncoding
  /** What was found in the columns of a table. */
  readonly columns?: readonly ColumnReport[]
  /** How streamed samples are read. */
  readonly feed?: FeedOptions
}

/** The properties of a published data set that are known before its files are read. */
export type DatasetTraits = Required<Omit<Dataset, 'name' | 'train' | 'test' | 'feed' | 'encoding' | 'columns'>>

/** A data set that is completely in memory. */
export interface StoredDataset extends Dataset {
  readonly train: DatasetSpec
  readonly test: DatasetSpec
}

/**
 * Samples that threads of a pool read from storage during training. Their targets are one of: a class for each sample (`labels`), numbers in memory (`target` and `targets`), or what the reader
 * writes with each sample: class numbers of the shape `label`, or numbers of the shape `target`.
 */
export interface StreamedSamples {
  readonly count: number
  /** (C, H, W), (T, F) or (F), in bytes: pixels from 0 to 255. */
  readonly sample: readonly number[]
  /** 0 or omitted where the targets are no classes. */
  readonly classes?: number
  /** (count): the class number of each sample. */
  readonly labels?: Int32Array
  /** The shape of a sample's class numbers, which its reader writes: (H, W) of its pixels, or (T). Any may be -1, which counts for nothing. */
  readonly label?: readonly number[]
  /** Instead of class numbers: the shape of a target. */
  readonly target?: readonly number[]
  /** (count, ...target); if omitted, the reader writes a sample's target. */
  readonly targets?: Float32Array
  /** (count): the path or key of each sample, which the reader is called with. */
  readonly items: readonly string[]
  readonly reader: ReaderSpec
  /** If true, training samples are read without random changes, as test samples are. */
  readonly still?: boolean
  /** Never set: streamed samples are no windows of a text. */
  readonly stride?: undefined
}

/** A module that exports `openReader`, and what it is called with: values that can be posted to a thread. */
export interface ReaderSpec {
  readonly module: string
  readonly options: unknown
  /** Where the samples lie, such as folders: the second argument. Data sets that differ in it alone are the same to a run that goes on. */
  readonly place?: unknown
}

/**
 * Reads one sample of bytes into `to`. `draws` gives its random numbers, or is undefined if the sample must be the same every time. `targets` is memory for its class numbers (Int32Array) or
 * its target (Float32Array) where the reader has to write them, all of them. An exception marks the sample as unreadable.
 */
export type ReadSample = (
  item: string,
  to: Uint8Array,
  draws: Draws | undefined,
  targets?: Int32Array | Float32Array
) => void | Promise<void>

/** The function that a reader's module exports as `openReader`; called once in each thread of the pool for the same options. */
export type OpenReader = (options: never, place?: never) => ReadSample | Promise<ReadSample>

/** How a data set streams. */
export interface FeedOptions {
  /** Threads that read samples; if omitted, as many as there are cores, but fewer than libuv's threads, which decode the images. */
  readonly threads?: number
  /** Batches that are read ahead for each learner; 4 if omitted. */
  readonly prefetch?: number
  /** Bytes of memory that keep decoded test samples; an eighth of the free memory if omitted. */
  readonly cache?: number
  /** If a sample cannot be read, `fail` ends the job; `skip` uses the next sample instead and reports it. */
  readonly onBadSample?: 'fail' | 'skip'
}

export function isStreamed(samples: DatasetSpec | StreamedSamples): samples is StreamedSamples {
  return 'reader' in samples
}

/**
 * How many predictions for a test sample can be right or wrong: one for each token of a text, one for a class, none for other targets. Samples with several labels may have different numbers of
 * labels that count: the mean of these numbers, or undefined if it is known only when all labels have been read.
 */
export function answersOf({ sample, classes, test }: Pick<Dataset, 'sample' | 'classes' | 'test'>): number | undefined {
  if (test.stride !== undefined) return elements(sample)
  if (test.label !== undefined) return isStreamed(test) ? undefined : labelsThatCount(test) / test.count
  return classes > 0 ? 1 : 0
}

/** How many predictions a model makes for a sample, whether they can be right or wrong or not. */
export function positionsOf({ sample, test }: Pick<Dataset, 'sample' | 'test'>): number {
  return elements(test.stride !== undefined ? sample : (test.label ?? []))
}
