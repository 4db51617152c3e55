import type { DatasetSpec } from '../engine/contract.js'

/** Samples to learn from and samples to be measured on, with what the load segment does to them. */
export interface Dataset {
  readonly name: string
  /** One sample's shape: (C, H, W) or (F). */
  readonly sample: readonly number[]
  /** 0 where the targets are not classes. */
  readonly classes: number
  readonly train: DatasetSpec
  readonly test: DatasetSpec
  /** Per channel, of samples in 0 to 1: (x - mean) / deviation. */
  readonly mean: readonly number[]
  readonly deviation: readonly number[]
  /** For training only: zero padding before a random crop of the original size, and a random left-right flip. */
  readonly augmentation: { readonly padding: number; readonly flip: boolean }
}
