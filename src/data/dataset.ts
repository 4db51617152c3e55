import type { DatasetSpec } from '../engine/contract.js'
import { elements } from '../model/graph.js'
import type { FeedOptions, StreamedSamples } from './streamed.js'

/** Samples to learn from and samples to be measured on, with what the load segment does to them. */
export interface Dataset {
  readonly name: string
  /** One sample's shape: (C, H, W), (F), or (T) tokens. */
  readonly sample: readonly number[]
  /** 0 where the targets are not classes. */
  readonly classes: number
  /** What each class or token is called, in the order of its numbers; their numbers where it is left out. */
  readonly classNames?: readonly string[]
  /** In memory, or made while the learners train from what is stored. */
  readonly train: DatasetSpec | StreamedSamples
  readonly test: DatasetSpec | StreamedSamples
  /** Per channel, of samples in 0 to 1: (x - mean) / deviation. */
  readonly mean: readonly number[]
  readonly deviation: readonly number[]
  /** For training only: zero padding before a random crop of the original size, and a random left-right flip. */
  readonly augmentation: { readonly padding: number; readonly flip: boolean }
  /** How samples that stream are made. */
  readonly feed?: FeedOptions
}

/** What is known of a published data set before its files are read. */
export type DatasetTraits = Required<Omit<Dataset, 'name' | 'train' | 'test' | 'feed'>>

/** How many answers a sample has that can be right or wrong: one a token in windows of a text, none where targets are not classes. */
export function answersOf({ sample, classes, test }: Pick<Dataset, 'sample' | 'classes' | 'test'>): number {
  if (test.stride !== undefined) return elements(sample)
  return classes > 0 ? 1 : 0
}

/** A data set that lies in memory whole. */
export interface StoredDataset extends Dataset {
  readonly train: DatasetSpec
  readonly test: DatasetSpec
}
